//! One recording, from its begin to its end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use pegaflow_core::budget::Budget;
use pegaflow_core::error::{Error, Result};
use serde::Serialize;

use super::directory::{shortage, unusable, words};
use super::files::Files;
use super::key::Key;
use super::line::{Asked, Lines};
use crate::events::{EventKind, EventLevel, EventLog};

/// Lookups that wait to be written.
const QUEUE: usize = 64;
/// Text that is compressed together, and for how long it is collected: what a kill can take.
const PART_BYTES: usize = 256 << 10;
const PART_TIME: Duration = Duration::from_secs(2);
/// Of each second of wall time, the recording's thread may use this part,
const SHARE: f64 = 0.01;
/// and this much at once after it was idle.
const BURST: Duration = Duration::from_millis(100);

/// A recording under way; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Recorder {
    queue: Option<SyncSender<Asked>>,
    counts: Arc<Counts>,
    directory: PathBuf,
    max_bytes: u64,
    shortage: Option<String>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Counts {
    lookups: AtomicU64,
    left_out: AtomicU64,
    bytes: AtomicU64,
    /// Why the last part could not be written.
    error: Mutex<Option<String>>,
}

/// What was recorded since the recording began.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct RecordingSnapshot {
    /// Where the files are.
    pub(crate) directory: PathBuf,
    /// Lookups that were written.
    pub(crate) lookups: u64,
    /// Lookups that were left out, to keep to the share of a processor or for want of a disk.
    pub(crate) left_out: u64,
    /// Bytes of the files that are there, also of earlier recordings.
    pub(crate) bytes: u64,
    /// Bytes that they may take.
    pub(crate) size_bytes: u64,
    /// Why nothing can be written now.
    pub(crate) error: Option<String>,
    /// A sentence on a file system that had less than they may take when the recording began.
    pub(crate) shortage: Option<String>,
}

impl Recorder {
    /// Begins to record; [`super::Recording::start`] says what can go wrong.
    pub(super) fn start(directory: &Path, max_bytes: u64, events: Arc<EventLog>) -> Result<Self> {
        let files = Files::open(directory, max_bytes).map_err(|error| unusable(directory, error))?;
        let lines = Lines::new(Key::of(directory)?);
        let counts = Arc::new(Counts::default());
        counts.bytes.store(files.bytes(), Ordering::Relaxed);
        let shortage = shortage(directory, max_bytes, files.bytes());
        if let Some(shortage) = &shortage {
            tracing::warn!("{shortage}");
            tell(&events, directory, EventLevel::Warning, shortage);
        }
        let (queue, asked) = sync_channel(QUEUE);
        let writer = Writer {
            files,
            lines,
            counts: Arc::clone(&counts),
            directory: directory.to_owned(),
            events,
        };
        let thread = thread::Builder::new()
            .name("recording".to_owned())
            .spawn(move || writer.run(&asked))
            .map_err(|error| Error::io("start the thread that records", error))?;
        Ok(Self {
            queue: Some(queue),
            counts,
            directory: directory.to_owned(),
            max_bytes,
            shortage,
            thread: Some(thread),
        })
    }

    /// Records a lookup, unless there is no room for it.
    pub(super) fn record(&self, asked: Asked) {
        let Some(queue) = &self.queue else {
            return;
        };
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) = queue.try_send(asked) {
            self.counts.left_out.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What was recorded so far.
    pub(super) fn snapshot(&self) -> RecordingSnapshot {
        RecordingSnapshot {
            directory: self.directory.clone(),
            lookups: self.counts.lookups.load(Ordering::Relaxed),
            left_out: self.counts.left_out.load(Ordering::Relaxed),
            bytes: self.counts.bytes.load(Ordering::Relaxed),
            size_bytes: self.max_bytes,
            error: self.counts.error.lock().clone(),
            shortage: self.shortage.clone(),
        }
    }

    /// Writes what came until now, and ends; what was recorded in all.
    pub(super) fn stop(mut self) -> RecordingSnapshot {
        self.end();
        self.snapshot()
    }

    fn end(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            // Its panic was reported where it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.end();
    }
}

struct Writer {
    files: Files,
    lines: Lines,
    counts: Arc<Counts>,
    directory: PathBuf,
    events: Arc<EventLog>,
}

impl Writer {
    fn run(mut self, asked: &Receiver<Asked>) {
        let mut budget = Budget::new(SHARE, BURST);
        let mut began = Instant::now();
        loop {
            let wait = match self.lines.is_empty() {
                true => Duration::MAX,
                false => PART_TIME.saturating_sub(began.elapsed()),
            };
            match asked.recv_timeout(wait) {
                Ok(lookup) if budget.is_spent() => {
                    drop(lookup);
                    self.counts.left_out.fetch_add(1, Ordering::Relaxed);
                }
                Ok(lookup) => {
                    if self.lines.is_empty() {
                        began = Instant::now();
                    }
                    self.lines.push(&lookup);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return self.write(),
            }
            if self.lines.bytes() >= PART_BYTES || (!self.lines.is_empty() && began.elapsed() >= PART_TIME) {
                self.write();
            }
        }
    }

    fn write(&mut self) {
        let (text, lookups) = self.lines.take();
        if lookups == 0 {
            return;
        }
        let key = self.lines.key().keep();
        let error = match key.and_then(|()| self.files.append(&text, SystemTime::now())) {
            Ok(()) => {
                self.counts.lookups.fetch_add(lookups, Ordering::Relaxed);
                None
            }
            Err(error) => {
                self.counts.left_out.fetch_add(lookups, Ordering::Relaxed);
                Some(words(&error))
            }
        };
        self.counts.bytes.store(self.files.bytes(), Ordering::Relaxed);
        let before = std::mem::replace(&mut *self.counts.error.lock(), error.clone());
        let directory = self.directory.display();
        match (before, error) {
            (None, Some(error)) => {
                tracing::warn!("lookups are not recorded: {error}");
                let text = format!("lookups cannot be recorded into {directory}: {error}");
                tell(&self.events, &self.directory, EventLevel::Warning, &text);
            }
            (Some(_), None) => {
                let text = format!("lookups are recorded into {directory} again");
                tell(&self.events, &self.directory, EventLevel::Ok, &text);
            }
            _ => {}
        }
    }
}

fn tell(events: &EventLog, directory: &Path, level: EventLevel, text: &str) {
    let subject = directory.display().to_string();
    events.add(EventKind::Recording, level, Some(&subject), text);
}
