//! Recordings of lookups: which blocks were asked for and when, by hashed ids, in compressed files of bounded size.
//!
//! They begin with the daemon, where that is set, or on request. A thread of its own writes them. What comes while it has
//! used its share of a processor, or waits for the disk, is counted and left out: nobody else ever waits for a recording.

mod directory;
mod files;
mod key;
mod line;
mod recorder;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use pegaflow_core::error::{Error, ErrorKind, Result};

pub(crate) use line::Asked;
use recorder::Recorder;
pub(crate) use recorder::RecordingSnapshot;

use crate::events::EventLog;

/// The recording of a daemon, if there is one now.
#[derive(Debug)]
pub(crate) struct Recording {
    events: Arc<EventLog>,
    /// Held while one begins or ends, which takes files: lookups do not wait for that.
    changing: Mutex<()>,
    now: RwLock<Option<Recorder>>,
}

impl Recording {
    /// None yet; what goes wrong with one is told to `events`.
    pub(crate) fn new(events: Arc<EventLog>) -> Self {
        Self {
            events,
            changing: Mutex::default(),
            now: RwLock::default(),
        }
    }

    /// Begins to record into this directory, which is made if it is not there; its files take at most `max_bytes`.
    ///
    /// # Errors
    /// `Conflict` while lookups are recorded already, here or by another daemon; `Config` and `Io` for a directory that
    /// cannot be used.
    pub(crate) fn start(&self, directory: &Path, max_bytes: u64) -> Result<RecordingSnapshot> {
        let _changing = self.changing.lock();
        if let Some(now) = self.snapshot() {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "lookups are recorded into {} already: end that first with `pegaflow trace record --stop`",
                    now.directory.display()
                ),
            ));
        }
        let recorder = Recorder::start(directory, max_bytes, Arc::clone(&self.events))?;
        let snapshot = recorder.snapshot();
        *self.now.write() = Some(recorder);
        Ok(snapshot)
    }

    /// Ends the recording; what came until then is written.
    ///
    /// # Errors
    /// `Conflict` when nothing is recorded.
    pub(crate) fn stop(&self) -> Result<RecordingSnapshot> {
        let _changing = self.changing.lock();
        let recorder = self.now.write().take();
        recorder.map(Recorder::stop).ok_or_else(|| {
            Error::new(
                ErrorKind::Conflict,
                "no lookups are recorded: `pegaflow trace record DIR` begins it",
            )
        })
    }

    /// Records a lookup, if lookups are recorded and there is room for it.
    ///
    /// # Errors
    /// Those of `asked`, which is called when there is.
    pub(crate) fn record(&self, asked: impl FnOnce() -> Result<Asked>) -> Result<()> {
        if let Some(recorder) = &*self.now.read() {
            recorder.record(asked()?);
        }
        Ok(())
    }

    /// What was recorded so far; None when nothing is.
    pub(crate) fn snapshot(&self) -> Option<RecordingSnapshot> {
        self.now.read().as_ref().map(Recorder::snapshot)
    }
}
