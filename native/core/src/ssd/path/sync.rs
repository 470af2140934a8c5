//! When a path's files are made safe from a loss of power.

use std::fs::File;
use std::time::{Duration, Instant};

use crate::sync::Arc;

/// How long, and how many bytes, the records of blocks that can be found may be unsafe. With a quarter of the bytes, which a disk
/// writes in a third of that time, it wrote up to a fifth less.
const MOST_TIME: Duration = Duration::from_millis(100);
const MOST_BYTES: u64 = 256 << 20;

/// What is written and not safe.
#[derive(Debug, Default)]
pub(super) struct Safety {
    files: Vec<Arc<File>>,
    bytes: u64,
    since: Option<Instant>,
    /// Files that the engine is at.
    pub(super) under_way: usize,
    /// Journal writes so far; of them, those that will be safe, and those that are.
    written: u64,
    underway_to: u64,
    safe: u64,
    is_wanted: bool,
}

impl Safety {
    /// Records were written to a file, for so many bytes of blocks.
    pub(super) fn written(&mut self, file: &Arc<File>, bytes: u64) {
        if !self.files.iter().any(|other| Arc::ptr_eq(other, file)) {
            self.files.push(Arc::clone(file));
        }
        self.bytes += bytes;
        self.written += 1;
        self.since.get_or_insert_with(Instant::now);
    }

    /// What all records so far are known by.
    pub(super) fn mark(&self) -> u64 {
        self.written
    }

    /// Whether the records up to a mark are safe.
    pub(super) fn is_safe(&self, mark: u64) -> bool {
        self.safe >= mark
    }

    /// Somebody waits.
    pub(super) fn want(&mut self) {
        self.is_wanted = true;
    }

    /// When files are to be made safe next.
    pub(super) fn due(&self) -> Option<Instant> {
        if self.under_way > 0 {
            return None;
        }
        let since = self.since?;
        let is_due = self.is_wanted || self.bytes >= MOST_BYTES;
        Some(if is_due { since } else { since + MOST_TIME })
    }

    /// The files to be made safe now.
    pub(super) fn begin(&mut self) -> Vec<Arc<File>> {
        let files = std::mem::take(&mut self.files);
        self.under_way = files.len();
        self.underway_to = self.written;
        self.bytes = 0;
        self.since = None;
        self.is_wanted = false;
        files
    }

    /// One of them is.
    pub(super) fn end(&mut self) {
        self.under_way -= 1;
        if self.under_way == 0 {
            self.safe = self.underway_to;
        }
    }
}
