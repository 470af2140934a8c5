//! Keeps the copies of one GPU below a rate.

use std::thread;
use std::time::{Duration, Instant};

use crate::pause;
use crate::sync::Mutex;

/// When the next copy may begin, so that all together stay below a rate.
#[derive(Debug)]
pub(crate) struct Pace {
    bytes_per_s: Option<u64>,
    next: Mutex<Instant>,
}

impl Pace {
    /// At most so many bytes per second, both directions together; None: as fast as they go.
    pub(super) fn new(bytes_per_s: Option<u64>) -> Self {
        Self {
            bytes_per_s,
            next: Mutex::new(Instant::now()),
        }
    }

    /// Bytes per second, where there is a limit.
    pub(crate) fn bytes_per_s(&self) -> Option<u64> {
        self.bytes_per_s
    }

    /// Returns when so many bytes may be copied: when those that were let through before have had their time.
    pub(crate) fn wait(&self, bytes: u64) {
        let Some(rate) = self.bytes_per_s else { return };
        let now = Instant::now();
        let mut next = self.next.lock();
        let begin = now.max(*next);
        *next = begin + Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
        drop(next);
        if begin > now {
            pause::be_exact();
            thread::sleep(begin - now);
        }
    }
}
