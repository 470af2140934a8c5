//! A daemon of one's own, engines that use it, and what operators see of it.

mod child;
mod daemon;
pub(crate) mod engine;
mod http;

use std::time::{Duration, Instant};

pub(crate) use child::Child;
pub(crate) use daemon::{Daemon, config};
pub(crate) use http::{Response, get, metrics, post, request};

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
