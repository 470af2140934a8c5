//! An operation on its thread.

use std::sync::Arc;
use std::thread;

use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::progress::{Progress, ProgressSnapshot};
use tokio::sync::oneshot;

use super::Operation;
use crate::daemon::Daemon;
use crate::events::{EventKind, EventLevel};

/// An operation under way; one that nobody waits for any more ends early.
#[derive(Debug)]
pub(crate) struct Running {
    daemon: Arc<Daemon>,
    progress: Arc<Progress>,
    result: oneshot::Receiver<Result<String>>,
}

impl Running {
    /// Begins an operation.
    ///
    /// # Errors
    /// `Limit` when too many run, `Conflict` when the daemon is to end, `Io` when the system has no room for a thread.
    pub(crate) fn start(daemon: &Arc<Daemon>, operation: Operation) -> Result<Self> {
        let progress = Arc::new(Progress::default());
        let place = daemon.operations.begin(operation.name(), &progress)?;
        if daemon.lifecycle.is_draining() {
            place.end("refused");
            return Err(Error::new(
                ErrorKind::Conflict,
                "the daemon is draining: nothing is begun any more",
            ));
        }
        let (told, result) = oneshot::channel();
        let (for_thread, watched) = (Arc::clone(daemon), Arc::clone(&progress));
        tracing::info!(?operation, "an operation begins");
        tell(daemon, &operation, EventLevel::Ok, "began");
        thread::Builder::new()
            .name("pega-operation".to_owned())
            .spawn(move || {
                let result = operation.run(&for_thread, &watched);
                match &result {
                    Ok(result) => {
                        tracing::info!(%result, "an operation ended");
                        let what = if watched.is_cancelled() {
                            "ended early"
                        } else {
                            "is done"
                        };
                        tell(&for_thread, &operation, EventLevel::Ok, what);
                    }
                    Err(error) => {
                        tracing::warn!(operation = operation.name(), "an operation failed: {error}");
                        let what = format!("failed: {error}");
                        tell(&for_thread, &operation, EventLevel::Warning, &what);
                    }
                }
                place.end(match &result {
                    Ok(_) if watched.is_cancelled() => "cancelled",
                    Ok(_) => "done",
                    Err(error) if is_refusal(error) => "refused",
                    Err(_) => "failed",
                });
                drop(for_thread);
                // Nobody may wait any more.
                drop(told.send(result));
            })
            .map_err(|error| Error::io("start an operation's thread", error))?;
        Ok(Self {
            daemon: Arc::clone(daemon),
            progress,
            result,
        })
    }

    /// How far it is.
    pub(crate) fn progress(&self) -> ProgressSnapshot {
        self.progress.snapshot()
    }

    /// Asks it to end early, with what is done.
    pub(crate) fn cancel(&self) {
        self.progress.cancel();
    }

    /// Waits for its end, which comes early when the daemon drains; the result as JSON. Nothing is lost when the wait is
    /// abandoned and begun again.
    ///
    /// # Errors
    /// Why there is no result.
    pub(crate) async fn result(&mut self) -> Result<String> {
        let result = &mut self.result;
        let ended = tokio::select! {
            ended = &mut *result => ended,
            () = self.daemon.lifecycle.draining() => {
                self.progress.cancel();
                result.await
            }
        };
        ended.unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Io,
                "the operation ended without a result: the daemon's log says why",
            ))
        })
    }
}

/// Whether it was asked for what cannot be done as things are, and nothing broke.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Config
            | ErrorKind::Invalid
            | ErrorKind::NotFound
            | ErrorKind::Conflict
            | ErrorKind::Limit
            | ErrorKind::Permission
    )
}

/// Adds an event: that the operation did this.
fn tell(daemon: &Daemon, operation: &Operation, level: EventLevel, what: &str) {
    let kind = if operation.is_configuration() {
        EventKind::Configuration
    } else {
        EventKind::Operation
    };
    let name = operation.name();
    daemon
        .events
        .add(kind, level, Some(name), format!("{name} {what}"));
}

impl Drop for Running {
    fn drop(&mut self) {
        self.progress.cancel();
    }
}
