//! What is asked for: how much of it came again, and why what was missed was not there.
//!
//! All of it is bounded in memory, whatever is asked for: blocks are known by fingerprints of 32 bits.

mod ages;
mod departed;
mod departure;
mod distinct;
mod missed;
#[cfg(test)]
mod tests;
mod windows;

pub use ages::{AGE_BOUNDS_S, AGE_BUCKETS, AgeCounts};
pub use departure::Departure;
pub use missed::{GHOST_FACTORS, MissReason, Missed};
pub use windows::Ceiling;

use std::time::Duration;

use crate::sync::{AtomicU64, Mutex, Ordering};
use ages::Ages;
use departed::Departed;
pub(crate) use departed::Trace;
use missed::MissedTotals;
use windows::Windows;

/// What lookups asked for and what eviction took, since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Demand {
    windows: Mutex<Windows>,
    departed: Mutex<Departed>,
    missed: MissedTotals,
    evicted: [[AtomicU64; 2]; Departure::ALL.len()],
    residence: Ages,
    idle: Ages,
}

/// What lookups asked for and what eviction took, at one time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DemandSnapshot {
    /// What an endless cache would have hit, for each window, the shortest first.
    pub ceilings: Vec<Ceiling>,
    /// Blocks that lookups missed, by reason.
    pub missed: Missed,
    /// Blocks that left memory, by reason: those that no lookup had found, and those that one had.
    pub evicted: Vec<(Departure, [u64; 2])>,
    /// How long evicted blocks had been in memory.
    pub residence: AgeCounts,
    /// How long evicted blocks had not been used.
    pub idle: AgeCounts,
}

/// A visible block that is evicted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evictee {
    pub(crate) fingerprint: u32,
    pub(crate) bytes: u64,
    /// Whether a lookup has found it.
    pub(crate) was_found: bool,
    pub(crate) residence: Duration,
    pub(crate) idle: Duration,
}

impl Demand {
    /// A lookup asked for these blocks at a time after the open, and missed some.
    pub(crate) fn see(&self, fingerprints: &[u32], missed: &Missed, now: Duration) {
        self.windows.lock().see(fingerprints, now);
        self.missed.add(missed);
    }

    /// What is remembered of the blocks that left memory, for each of these fingerprints.
    pub(crate) fn look_back(&self, fingerprints: &[u32]) -> Vec<Option<Trace>> {
        let departed = self.departed.lock();
        let traces = fingerprints.iter().map(|fingerprint| departed.find(*fingerprint));
        traces.collect()
    }

    /// A block was evicted.
    pub(crate) fn evicted(&self, block: &Evictee, why: Departure) {
        if let Some(counts) = self.evicted.get(why as usize)
            && let Some(count) = counts.get(usize::from(block.was_found))
        {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.residence.add(block.residence);
        self.idle.add(block.idle);
        self.left(block.fingerprint, block.bytes, why);
    }

    /// A block left memory.
    pub(crate) fn left(&self, fingerprint: u32, bytes: u64, why: Departure) {
        self.departed.lock().insert(fingerprint, bytes, why);
    }

    /// A block is in memory.
    pub(crate) fn came(&self, fingerprint: u32) {
        self.departed.lock().forget(fingerprint);
    }

    /// Plain numbers, at a time after the open.
    pub(crate) fn snapshot(&self, now: Duration) -> DemandSnapshot {
        let count = |why: Departure| {
            let counts = self.evicted.get(why as usize);
            let [never, found] = [0, 1].map(|at| {
                counts
                    .and_then(|counts| counts.get(at))
                    .map_or(0, |count: &AtomicU64| count.load(Ordering::Relaxed))
            });
            (why, [never, found])
        };
        DemandSnapshot {
            ceilings: self.windows.lock().ceilings(now),
            missed: self.missed.load(),
            evicted: Departure::EVICTIONS.map(count).to_vec(),
            residence: self.residence.load(),
            idle: self.idle.load(),
        }
    }
}
