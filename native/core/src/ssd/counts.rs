//! What a path counts.

use std::time::{Duration, Instant};

use super::io::Action;
use super::snapshot::{FIRST_LATENCY_BOUND_NS, LATENCY_BUCKETS, LatencyCounts};
use crate::sync::{AtomicU64, Mutex, Ordering};

/// Counters of one path, since the tier was opened.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) written_blocks: Counter,
    pub(super) written_bytes: Counter,
    pub(super) kept_blocks: Counter,
    pub(super) evicted_blocks: Counter,
    pub(super) read_blocks: Counter,
    pub(super) read_bytes: Counter,
    pub(super) corrupt_blocks: Counter,
    pub(super) read_errors: Counter,
    pub(super) write_errors: Counter,
    pub(super) verify_ns: Counter,
    pub(super) reads: Latencies,
    pub(super) writes: Latencies,
    pub(super) read_rate: Rate,
    pub(super) write_rate: Rate,
}

/// A number that grows.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    pub(super) fn add(&self, count: u64) {
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A histogram.
#[derive(Debug, Default)]
pub(super) struct Latencies {
    buckets: [Counter; LATENCY_BUCKETS],
    sum_ns: Counter,
}

impl Latencies {
    pub(super) fn add(&self, latency: Duration) {
        let ns = latency.as_nanos() as u64;
        let doublings = ns
            .div_ceil(FIRST_LATENCY_BOUND_NS)
            .max(1)
            .next_power_of_two()
            .ilog2();
        let bucket = (doublings as usize).min(LATENCY_BUCKETS - 1);
        if let Some(count) = self.buckets.get(bucket) {
            count.add(1);
        }
        self.sum_ns.add(ns);
    }

    pub(super) fn snapshot(&self) -> LatencyCounts {
        let mut buckets = [0; LATENCY_BUCKETS];
        for (value, count) in buckets.iter_mut().zip(&self.buckets) {
            *value = count.get();
        }
        LatencyCounts {
            buckets,
            sum_ns: self.sum_ns.get(),
        }
    }
}

/// Time of work that a new window weighs as much as all before it.
const WINDOW: Duration = Duration::from_millis(500);

/// Bytes a second while there is something to do.
#[derive(Debug, Default)]
pub(super) struct Rate(Mutex<Working>);

#[derive(Debug, Default)]
struct Working {
    /// Transfers that have begun and not ended.
    under_way: usize,
    since: Option<Instant>,
    /// Of the window that is not over.
    busy: Duration,
    bytes: u64,
    rate: f64,
}

impl Rate {
    /// A transfer begins.
    pub(super) fn begin(&self) {
        let mut working = self.0.lock();
        if working.under_way == 0 {
            working.since = Some(Instant::now());
        }
        working.under_way += 1;
    }

    /// A transfer has ended that moved so many bytes.
    pub(super) fn end(&self, bytes: u64) {
        let mut working = self.0.lock();
        let now = Instant::now();
        if let Some(since) = working.since.replace(now) {
            working.busy += now.duration_since(since);
        }
        working.bytes += bytes;
        working.under_way = working.under_way.saturating_sub(1);
        if working.under_way == 0 {
            working.since = None;
        }
        if working.busy >= WINDOW {
            let rate = working.bytes as f64 / working.busy.as_secs_f64();
            working.rate = if working.rate > 0.0 {
                (working.rate + rate) / 2.0
            } else {
                rate
            };
            (working.busy, working.bytes) = (Duration::ZERO, 0);
        }
    }

    /// That of the last windows; before the first one is over, of what there was.
    pub(super) fn get(&self) -> f64 {
        let working = self.0.lock();
        if working.rate > 0.0 || working.busy.is_zero() {
            return working.rate;
        }
        working.bytes as f64 / working.busy.as_secs_f64()
    }
}

/// What a disk owes an answer to.
#[derive(Debug, Default)]
pub(super) struct Answers {
    reads: Mutex<Owed>,
    /// Writes, and what else changes files.
    changes: Mutex<Owed>,
    /// What a thread does that may wait for the disk in other ways.
    work: Mutex<Owed>,
}

#[derive(Debug, Default)]
struct Owed {
    calls: usize,
    /// When the last call ended, or the first of those under way began.
    since: Option<Instant>,
}

impl Owed {
    fn begin(&mut self) {
        if self.calls == 0 {
            self.since = Some(Instant::now());
        }
        self.calls += 1;
    }

    fn end(&mut self) {
        self.calls = self.calls.saturating_sub(1);
        self.since = Some(Instant::now());
    }

    /// Whether nothing has happened for `limit`.
    fn is_quiet(&self, limit: Duration) -> bool {
        self.since.is_none_or(|since| since.elapsed() > limit)
    }

    fn is_overdue(&self, limit: Duration) -> bool {
        self.calls > 0 && self.is_quiet(limit)
    }
}

impl Answers {
    /// A call of an engine begins.
    pub(super) fn begin(&self, action: Action) {
        self.of(action).lock().begin();
    }

    /// A call of an engine has ended.
    pub(super) fn end(&self, action: Action) {
        self.of(action).lock().end();
    }

    /// Makes a change that waits for the disk.
    pub(super) fn change<T>(&self, change: impl FnOnce() -> T) -> T {
        self.changes.lock().begin();
        let result = change();
        self.changes.lock().end();
        result
    }

    /// Does work that may wait for the disk.
    pub(super) fn work<T>(&self, work: impl FnOnce() -> T) -> T {
        self.work.lock().begin();
        let result = work();
        self.work.lock().end();
        result
    }

    /// Whether the disk has answered nothing for `limit` though it is asked for something.
    pub(super) fn are_overdue(&self, limit: Duration) -> bool {
        let (reads, changes) = (self.reads.lock(), self.changes.lock());
        let is_quiet = reads.is_quiet(limit) && changes.is_quiet(limit);
        reads.is_overdue(limit) || changes.is_overdue(limit) || is_quiet && self.work.lock().is_overdue(limit)
    }

    fn of(&self, action: Action) -> &Mutex<Owed> {
        match action {
            Action::Read => &self.reads,
            Action::Write | Action::Sync => &self.changes,
        }
    }
}
