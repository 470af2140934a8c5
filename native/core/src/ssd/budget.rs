//! How much may be written in a day: disks wear out by writing.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::sync::Mutex;

const SECONDS_PER_DAY: u64 = 24 * 60 * 60;

/// What was written in a day (UTC).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Written {
    /// Days since 1970.
    pub(super) day: u32,
    pub(super) bytes: u64,
}

impl Written {
    /// Counts bytes of a day; a clock that goes back goes on with the later day.
    pub(super) fn add(&mut self, day: u32, bytes: u64) {
        if day > self.day {
            *self = Self { day, bytes: 0 };
        }
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// The bytes of a day that all paths share.
#[derive(Debug)]
pub(super) struct Budget {
    limit: Option<u64>,
    written: Mutex<Written>,
}

impl Budget {
    pub(super) fn new(limit: Option<u64>) -> Self {
        Self {
            limit,
            written: Mutex::default(),
        }
    }

    /// Counts bytes that are going to be written, unless they are more than is left today.
    pub(super) fn take(&self, day: u32, bytes: u64) -> bool {
        let mut written = self.written.lock();
        let mut after = *written;
        after.add(day, bytes);
        let is_left = self.limit.is_none_or(|limit| after.bytes <= limit);
        if is_left {
            *written = after;
        }
        is_left
    }

    /// Counts bytes that were written, whatever is left.
    pub(super) fn add(&self, written: Written) {
        self.written.lock().add(written.day, written.bytes);
    }

    /// Counts what a path says was written before the tier was opened, if that was today.
    pub(super) fn recover(&self, written: Written) {
        if written.day >= today() {
            self.add(written);
        }
    }

    /// What is left today; None without a limit.
    pub(super) fn left(&self, day: u32) -> Option<u64> {
        let mut written = *self.written.lock();
        written.add(day, 0);
        Some(self.limit?.saturating_sub(written.bytes))
    }
}

/// Days since 1970 (UTC).
pub(super) fn today() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (since.as_secs() / SECONDS_PER_DAY) as u32
}
