//! What a pool of another size would hit, known while the daemon serves, from a sample of the blocks that are asked for.
//!
//! After Waldspurger, Saemundsson, Ahmad and Park, "Cache Modeling and Optimization using Miniature Simulations" (ATC 2017):
//! caches of several sizes, all as many times smaller than a pool as there are blocks for each sampled one, run the policy in
//! use. Blocks are sampled one by one, so each prompt is in the sample with about as many blocks as it has of all, and goes
//! as it does in a pool. As prompts become shorter by that, what lets single blocks of them go seems to hit more than it does.
//! The sample becomes smaller, and never larger again, when it has too many blocks or takes too long.

mod backlog;
mod miniature;
mod sample;
mod tally;
#[cfg(test)]
mod tests;

use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::budget::Budget;
use crate::error::{Error, ErrorKind, Result};
use crate::eviction::{PolicyKind, Tick};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};
use backlog::{Backlog, Event, EventKind};
use sample::Sample;

/// Sizes of the pool that are looked at.
const SIZES: usize = 8;
/// Most blocks of a miniature, of about 100 bytes each: where not all fit, all sizes together have twice as many.
const MOST_BLOCKS: usize = 64 << 10;
/// After so many blocks what was seen counts half.
const FADE_BLOCKS: u64 = 1 << 24;
/// Of each second of wall time, the thread may use this part,
const SHARE: f64 = 0.005;
/// and this much at once after it was idle; then the sample becomes smaller.
const BURST: Duration = Duration::from_millis(30);

/// Watches lookups and saves, which only note their blocks: a thread of its own counts them.
#[derive(Debug)]
pub(crate) struct WhatIf {
    watched: Arc<Watched>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Watched {
    /// That of the sample.
    level: AtomicU64,
    /// Blocks that were asked for, not yet counted in the sample.
    passed: AtomicU64,
    backlog: Backlog,
    /// Taken before the backlog, so that all is counted in its order.
    sample: Mutex<Sample>,
}

/// What pools of other sizes would have hit under the policy in use.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    /// The policy.
    pub policy: PolicyKind,
    /// Blocks that were asked for; old ones count less.
    pub seen_blocks: u64,
    /// Blocks that are sampled now.
    pub sampled_blocks: u64,
    /// By size, from an eighth of the pool to 16 times it; none before anything was asked.
    pub points: Vec<CurvePoint>,
}

/// What a pool of one size would have hit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// The size.
    pub pool_bytes: u64,
    /// The part of the blocks asked for that it would have hit.
    pub hit_part: f64,
    /// It may be off by more than two points: the sample is too small, or the policy lets single blocks of prompts go.
    pub is_rough: bool,
}

impl WhatIf {
    /// Around a pool of this size under this policy.
    pub(crate) fn new(policy: PolicyKind, pool_bytes: u64) -> Self {
        Self::of(Sample::new(policy, pool_bytes, MOST_BLOCKS))
    }

    fn of(sample: Sample) -> Self {
        Self {
            watched: Arc::new(Watched {
                level: AtomicU64::new(0),
                passed: AtomicU64::new(0),
                backlog: Backlog::default(),
                sample: Mutex::new(sample),
            }),
            thread: Mutex::default(),
        }
    }

    /// Starts the thread; without it, what was noted is counted when somebody wants to know.
    pub(crate) fn start(&self) -> Result<()> {
        let watched = Arc::clone(&self.watched);
        let count = move || {
            let mut budget = Budget::new(SHARE, BURST);
            while watched.backlog.wait() {
                watched.count();
                if budget.is_spent() {
                    watched.narrow();
                    budget = Budget::new(SHARE, BURST);
                }
            }
        };
        let thread = thread::Builder::new().name("what-if".into()).spawn(count);
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
    pub(crate) fn asked(&self, fingerprints: &[u32], block_bytes: u64, time: Tick) {
        let event = Event {
            kind: EventKind::Asked,
            block_bytes,
            time,
        };
        if self.watched.note(fingerprints, event) {
            let passed = &self.watched.passed;
            passed.fetch_add(fingerprints.len() as u64, Ordering::Relaxed);
        }
    }

    /// A block was saved, behind another in its chain if that is known.
    pub(crate) fn saved(&self, fingerprint: u32, after: Option<u32>, block_bytes: u64, time: Tick) {
        let event = Event {
            kind: EventKind::Saved { after },
            block_bytes,
            time,
        };
        self.watched.note(&[fingerprint], event);
    }

    /// What pools of sizes around this one would have hit; counted anew from a change of the size on.
    pub(crate) fn curve(&self, pool_bytes: u64) -> Curve {
        self.watched.count();
        let mut sample = self.watched.sample.lock();
        sample.resize(pool_bytes);
        sample.curve()
    }
}

impl Watched {
    /// Notes what happened to the sampled ones of these blocks; false when it is left out.
    fn note(&self, fingerprints: &[u32], event: Event) -> bool {
        let level = self.level.load(Ordering::Relaxed) as u32;
        let mut sampled = fingerprints
            .iter()
            .copied()
            .filter(|fingerprint| is_sampled(*fingerprint, level))
            .peekable();
        sampled.peek().is_none() || self.backlog.push(sampled, event)
    }

    /// Counts all that was noted.
    fn count(&self) {
        let mut sample = self.sample.lock();
        let events = self.backlog.take();
        sample.tally.pass(self.passed.swap(0, Ordering::Relaxed));
        for (event, blocks) in events.iter() {
            sample.count(event, blocks);
        }
        sample.tally.fade(FADE_BLOCKS);
        self.level.store(sample.level().into(), Ordering::Relaxed);
    }

    /// Samples half as many blocks.
    fn narrow(&self) {
        let mut sample = self.sample.lock();
        sample.narrow();
        self.level.store(sample.level().into(), Ordering::Relaxed);
    }
}

/// Whether the block is one of the 2^level: policies go by the upper bits of fingerprints, which stay as they are in all blocks.
fn is_sampled(fingerprint: u32, level: u32) -> bool {
    fingerprint.trailing_zeros() >= level
}
