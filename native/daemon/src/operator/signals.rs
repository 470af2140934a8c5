//! SIGTERM and SIGINT: the first drains, the second ends at once.

use std::io;
use std::process;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::daemon::Daemon;

/// Both signals.
#[derive(Debug)]
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// From here on the signals end the process no more.
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    /// Waits for the first signal, then for the second, which ends the process.
    pub(super) async fn drain_or_end(mut self, daemon: &Daemon) {
        let first = self.next().await;
        tracing::info!("{first}: draining; once more ends at once");
        daemon.lifecycle.drain(false);
        let second = self.next().await;
        tracing::warn!("{second} again: ending at once");
        // Whoever sends a second signal does not want to wait for anything any more.
        process::exit(1);
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
