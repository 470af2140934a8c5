//! A daemon of one's own, engines that use it, and what operators see of it.

mod child;
mod daemon;
pub(crate) mod engine;
pub(crate) mod half_open;
mod http;
pub(crate) mod otlp_receiver;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

pub(crate) use child::Child;
pub(crate) use daemon::{Daemon, config};
pub(crate) use http::{Response, get, metrics, post, request};

/// A token that HTTP may ask for.
pub(crate) const TOKEN: &str = "f0e1d2c3b4a5968778695a4b3c2d1e0f";

/// A file beside the socket that holds a token, as the daemon wants it.
pub(crate) fn token_file(socket: &Path, token: &str) -> PathBuf {
    let file = socket.with_extension("token");
    fs::write(&file, format!("{token}\n")).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    file
}

/// Waits until `is_true`, at most as long as any machine needs.
pub(crate) async fn eventually(what: &str, mut is_true: impl AsyncFnMut() -> bool) {
    eventually_within(what, Duration::from_secs(20), async || is_true().await).await;
}

/// Waits until `is_true`, at most this long.
pub(crate) async fn eventually_within(what: &str, limit: Duration, mut is_true: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !is_true().await {
        assert!(began.elapsed() < limit, "not within {limit:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
