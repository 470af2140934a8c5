//! What a pool of another size would hit, known while the daemon serves, from a sample of the blocks that are asked for.
//!
//! After Waldspurger, Park, Garthwaite and Ahmad, "Efficient MRC Construction with SHARDS" (FAST 2015): blocks whose fingerprint
//! is below a threshold are sampled, the threshold falls so that their number is bounded, and how much was used between
//! two uses of a block, divided by the sampled share, is the size from which on a pool under lru has it. Blocks of a prompt
//! are used together, its first one last, so a block that lru keeps has all before it.

mod backlog;
mod distances;
mod sizes;
#[cfg(test)]
mod tests;

use std::thread::{self, JoinHandle};

use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};
use backlog::Backlog;
use distances::Distances;
use sizes::Sizes;

/// Most blocks that are sampled at a time.
const SAMPLES: usize = 8 << 10;
/// Fingerprints have 32 bits.
const ALL: u64 = 1 << 32;
/// After so many blocks what was seen counts half.
const FADE_BLOCKS: u64 = 1 << 24;

/// Watches lookups, which only note what they ask for: a thread of its own counts it.
#[derive(Debug)]
pub(crate) struct WhatIf {
    watched: Arc<Watched>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Watched {
    /// Fingerprints below it are sampled.
    threshold: AtomicU64,
    /// Blocks that were looked at, not yet counted in the sample.
    passed: AtomicU64,
    backlog: Backlog,
    /// Taken before the backlog, so that prompts are counted in their order.
    sample: Mutex<Sample>,
}

#[derive(Debug)]
struct Sample {
    distances: Distances,
    sizes: Sizes,
}

/// What pools of other sizes would have hit under lru.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    /// Blocks that were asked for; old ones count less.
    pub seen_blocks: u64,
    /// Blocks that are sampled now.
    pub sampled_blocks: u64,
    /// For each size that was asked for in bytes, the part of the blocks that it would have hit; none before anything was asked.
    pub hit_parts: Vec<f64>,
}

impl Default for WhatIf {
    fn default() -> Self {
        Self::with_samples(SAMPLES)
    }
}

impl WhatIf {
    fn with_samples(samples: usize) -> Self {
        Self {
            watched: Arc::new(Watched {
                threshold: AtomicU64::new(ALL),
                passed: AtomicU64::new(0),
                backlog: Backlog::default(),
                sample: Mutex::new(Sample {
                    distances: Distances::new(samples),
                    sizes: Sizes::default(),
                }),
            }),
            thread: Mutex::default(),
        }
    }

    /// Starts the thread; without it, what was asked for is counted when somebody wants to know.
    pub(crate) fn start(&self) -> Result<()> {
        let watched = Arc::clone(&self.watched);
        let thread = thread::Builder::new().name("what-if".into()).spawn(move || {
            while watched.backlog.wait() {
                watched.count();
            }
        });
        *self.thread.lock() = Some(thread.map_err(|error| Error::io("start the sampler", error))?);
        Ok(())
    }

    /// Asks the thread to end.
    pub(crate) fn stop(&self) {
        self.watched.backlog.close();
    }

    /// Waits until the thread has ended.
    pub(crate) fn join(&self) -> Result<()> {
        match self.thread.lock().take().map(JoinHandle::join) {
            Some(Err(_)) => Err(Error::new(ErrorKind::Io, "the sampler ended in a panic")),
            _ => Ok(()),
        }
    }

    /// The blocks of a prompt, each of so many bytes, were asked for.
    pub(crate) fn see(&self, fingerprints: &[u32], block_bytes: u64) {
        let watched = &self.watched;
        watched
            .passed
            .fetch_add(fingerprints.len() as u64, Ordering::Relaxed);
        let threshold = watched.threshold.load(Ordering::Relaxed);
        let mut sampled = fingerprints
            .iter()
            .copied()
            .filter(|fingerprint| u64::from(*fingerprint) < threshold)
            .peekable();
        if sampled.peek().is_some() && !watched.backlog.push(sampled, block_bytes) {
            watched.count();
        }
    }

    /// What pools of these sizes would have hit.
    pub(crate) fn curve(&self, pool_bytes: &[u64]) -> Curve {
        self.watched.count();
        let sample = self.watched.sample.lock();
        Curve {
            seen_blocks: sample.sizes.seen() as u64,
            sampled_blocks: sample.distances.len() as u64,
            hit_parts: sample.sizes.hit_parts(pool_bytes),
        }
    }
}

impl Watched {
    /// Counts all that was noted.
    fn count(&self) {
        let mut sample = self.sample.lock();
        let prompts = self.backlog.take();
        sample.sizes.pass(self.passed.swap(0, Ordering::Relaxed));
        for (fingerprints, block_bytes) in prompts.iter() {
            let threshold = self.threshold.load(Ordering::Relaxed);
            if let Some(most) = sample.count(fingerprints, block_bytes, threshold) {
                self.threshold.store(u64::from(most), Ordering::Relaxed);
            }
        }
        sample.sizes.fade(FADE_BLOCKS);
    }
}

impl Sample {
    /// Counts a prompt, of which blocks below the threshold are sampled; the next threshold, if that falls.
    fn count(&mut self, fingerprints: &[u32], block_bytes: u64, threshold: u64) -> Option<u32> {
        let Self { distances, sizes } = self;
        // Noted when the threshold was still higher, some are not sampled any more.
        let sampled = || {
            fingerprints
                .iter()
                .copied()
                .filter(|fingerprint| u64::from(*fingerprint) < threshold)
        };
        let scale = ALL as f64 / threshold as f64;
        for fingerprint in sampled() {
            let distance = distances.of(fingerprint);
            sizes.add(distance.map(|bytes| bytes as f64 * scale), scale);
        }
        for fingerprint in sampled().rev() {
            distances.touch(fingerprint, block_bytes);
        }
        distances.shrink()
    }
}
