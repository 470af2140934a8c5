//! The end of a daemon: transfers end, then sessions, then the tiers are closed.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pegaflow_core::store::Flush;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::daemon::Daemon;
use crate::events::{EventKind, EventLevel};
use crate::session::EndReason;

/// How often the flush of the ssd tier says how far it is.
const TELL_INTERVAL: Duration = Duration::from_secs(1);
/// What the flush has at least, whatever the transfers left of the drain timeout.
const FLUSH_WAIT_LEAST: Duration = Duration::from_secs(1);

/// Once the daemon is to end: lets transfers end, then ends the sessions, then closes the tiers.
pub(crate) async fn drain(daemon: Arc<Daemon>) {
    daemon.lifecycle.draining().await;
    let text = "the daemon drains, and ends";
    daemon.events.add(EventKind::Daemon, EventLevel::Ok, None, text);
    let limit = daemon.config.drain_timeout().unwrap_or_default();
    let end = Instant::now() + limit;
    let idle = async { tokio::join!(daemon.saves.idle(), daemon.loads.idle()) };
    if timeout(limit, idle).await.is_err() {
        tracing::warn!(?limit, "transfers are still under way: they end with the process");
    }
    daemon.sessions.end_all(EndReason::DaemonEnded);
    daemon.gpus.close();
    let closing = Arc::clone(&daemon);
    let kept = spawn_blocking(move || {
        flush(&closing, end.max(Instant::now() + FLUSH_WAIT_LEAST));
        closing.store.close(closing.lifecycle.is_purge())
    });
    let kept = kept.await.map(|closed| {
        closed.unwrap_or_else(|error| {
            tracing::error!("the memory tier was not closed: {error}");
            0
        })
    });
    daemon.lifecycle.drained(kept.unwrap_or(0));
}

/// Brings what is not on ssd there, as far as that gets by `deadline`.
fn flush(daemon: &Daemon, deadline: Instant) {
    let ssd = daemon.store.ssd().map(|ssd| ssd.snapshot());
    if ssd.is_none_or(|ssd| ssd.paths.is_empty()) {
        return;
    }
    let mut told = Instant::now();
    let flushed = daemon.store.flush(Flush::Admitted, deadline, &mut |progress| {
        if told.elapsed() >= TELL_INTERVAL {
            told = Instant::now();
            tracing::info!(?progress, "writing to ssd what is not there yet");
        }
        ControlFlow::Continue(())
    });
    match flushed {
        Ok(progress) => tracing::info!(?progress, "ssd has what it has room for"),
        Err(error) => tracing::warn!("not all was written to ssd: {error}"),
    }
}
