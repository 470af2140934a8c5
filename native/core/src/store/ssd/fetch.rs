//! Fetches: each block once at a time whoever waits for it, so many bytes at once, and none for which nobody waits.
//!
//! A thread of their own begins them, so that neither lookups nor the disks' threads do the work that this takes.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Tier;
use super::arrivals::{Arrival, Arrivals, Failure};
use super::job::Job;
use super::table::{Table, Waiter};
use crate::error::{Error, ErrorKind, Result};
use crate::index::BlockKey;
use crate::ssd::{Extent, Priority};
use crate::store::save::Eviction;
use crate::store::space::Space;
use crate::store::{Hits, Store};
use crate::sync::{Arc, AtomicU64, Condvar, Mutex, Ordering, Weak};

/// Nothing more is waited for when for so long nothing at all came.
const STALLED: Duration = Duration::from_secs(1);

/// All fetches of a store.
#[derive(Debug)]
pub(super) struct Fetches {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
    pub(super) counts: FetchCounts,
}

#[derive(Debug)]
struct Shared {
    table: Mutex<Table>,
    changed: Condvar,
    /// Bytes that may be on their way at once.
    most_bytes: u64,
}

/// What became of fetches.
#[derive(Debug, Default)]
pub(super) struct FetchCounts {
    pub(super) blocks: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) no_room: AtomicU64,
    pub(super) busy: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) corrupt: AtomicU64,
    pub(super) cancelled: AtomicU64,
    /// Blocks that were left where they are because computing them is faster.
    pub(super) declined: AtomicU64,
}

impl FetchCounts {
    fn count(&self, outcome: std::result::Result<u64, Failure>) {
        let of = match outcome {
            Ok(bytes) => {
                self.bytes.fetch_add(bytes, Ordering::Relaxed);
                &self.blocks
            }
            Err(Failure::NoRoom) => &self.no_room,
            Err(Failure::Busy) => &self.busy,
            Err(Failure::Failed) => &self.failed,
            Err(Failure::Corrupt) => &self.corrupt,
            Err(Failure::Cancelled) => &self.cancelled,
        };
        of.fetch_add(1, Ordering::Relaxed);
    }
}

/// What a block is fetched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A lookup waits for it.
    Load,
    /// It may be looked up some day.
    Warm {
        /// Whether other blocks may be driven out for it.
        may_evict: bool,
    },
}

impl Purpose {
    fn priority(self) -> Priority {
        match self {
            Self::Load => Priority::Load,
            Self::Warm { .. } => Priority::Warm,
        }
    }

    fn eviction(self) -> Eviction {
        match self {
            Self::Load | Self::Warm { may_evict: true } => Eviction::Allowed,
            Self::Warm { may_evict: false } => Eviction::Denied,
        }
    }
}

/// A block that is on a disk.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) key: BlockKey,
    pub(super) extent: Extent,
    /// What the arrival says.
    pub(super) number: usize,
}

/// A fetch to begin.
#[derive(Debug)]
pub(super) struct Next {
    pub(super) key: BlockKey,
    pub(super) extent: Extent,
    pub(super) purpose: Purpose,
}

/// Bytes on their way, and those that wait for their turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) in_flight_bytes: u64,
    pub(super) queued_blocks: u64,
    pub(super) queued_bytes: u64,
    /// When something last came, or began when nothing was on its way.
    pub(super) moved: Instant,
}

impl Load {
    pub(super) fn new() -> Self {
        Self {
            in_flight_bytes: 0,
            queued_blocks: 0,
            queued_bytes: 0,
            moved: Instant::now(),
        }
    }

    /// One that was queued is on its way.
    pub(super) fn begin(&mut self, bytes: u64) {
        if self.in_flight_bytes == 0 {
            self.moved = Instant::now();
        }
        self.queued_blocks -= 1;
        self.queued_bytes -= bytes;
        self.in_flight_bytes += bytes;
    }

    /// Whether the disks hang, as far as can be seen.
    pub(super) fn is_stalled(&self, now: Instant) -> bool {
        self.in_flight_bytes > 0 && now.saturating_duration_since(self.moved) >= STALLED
    }
}

impl Fetches {
    pub(super) fn new(most_bytes: u64) -> Self {
        Self {
            shared: Arc::new(Shared {
                table: Mutex::new(Table::new()),
                changed: Condvar::new(),
                most_bytes,
            }),
            thread: Mutex::default(),
            counts: FetchCounts::default(),
        }
    }

    /// Starts the thread that begins them; it ends with the store.
    pub(super) fn start(&self, store: &Arc<Store>) -> Result<()> {
        let (shared, store) = (Arc::clone(&self.shared), Arc::downgrade(store));
        let thread = thread::Builder::new()
            .name("ssd-fetcher".into())
            .spawn(move || run(&shared, &store));
        *self.thread.lock() = Some(thread.map_err(|error| Error::io("start to fetch from ssd", error))?);
        Ok(())
    }

    /// Asks the thread to end.
    pub(super) fn stop(&self) {
        self.shared.table.lock().is_closing = true;
        self.shared.changed.notify_one();
    }

    /// Waits until the thread has ended.
    pub(super) fn join(&self) -> Result<()> {
        match self.thread.lock().take().map(JoinHandle::join) {
            Some(Err(_)) => Err(Error::new(ErrorKind::Io, "the ssd fetcher ended in a panic")),
            _ => Ok(()),
        }
    }

    /// Bytes that may be on their way at once.
    pub(super) fn most_bytes(&self) -> u64 {
        self.shared.most_bytes
    }

    /// How much there is to do.
    pub(super) fn load(&self) -> Load {
        self.shared.table.lock().load()
    }

    /// These blocks of a space are to be fetched; `arrivals` hears of each, unless it leaves.
    pub(super) fn want(
        &self,
        space: &Arc<Space>,
        wanted: Vec<Wanted>,
        arrivals: &Arc<Arrivals>,
        purpose: Purpose,
    ) {
        let mut table = self.shared.table.lock();
        for one in wanted {
            table.want(space, one, arrivals, purpose);
        }
        drop(table);
        self.shared.changed.notify_one();
    }

    /// Nobody waits here for these blocks any more. Fetches that nobody else waits for end unless they are being read.
    pub(super) fn leave(&self, arrivals: &Arc<Arrivals>, keys: impl Iterator<Item = BlockKey>) {
        // Dropped when the lock is let go: a job that ends takes it.
        let mut left = Vec::new();
        {
            let mut table = self.shared.table.lock();
            left.extend(keys.filter_map(|key| table.leave(&key, arrivals)));
        }
        let queued = left.iter().filter(|left| left.was_queued).count() as u64;
        self.counts.cancelled.fetch_add(queued, Ordering::Relaxed);
    }
}

fn run(shared: &Shared, store: &Weak<Store>) {
    while let Some(next) = wait(shared) {
        let Some(store) = store.upgrade() else { return };
        if let Some(tier) = store.tier.get() {
            store.begin_fetch(tier, next);
        }
    }
}

/// The next fetch that may begin; None when the store closes.
fn wait(shared: &Shared) -> Option<Next> {
    let mut table = shared.table.lock();
    loop {
        if table.is_closing {
            return None;
        }
        if let Some(next) = table.next(shared.most_bytes) {
            return Some(next);
        }
        shared.changed.wait(&mut table);
    }
}

impl Store {
    fn begin_fetch(self: &Arc<Self>, tier: &Tier, next: Next) {
        let Next { key, extent, purpose } = next;
        let bytes = extent.bytes();
        let job = match Job::reserve(self, &key, bytes, purpose.eviction()) {
            Ok(job) => job,
            Err(failure) => {
                // Another fetch, or a save, may have brought it since it was looked for.
                let space = self.spaces.at(key.space);
                let outcome = space
                    .ok()
                    .and_then(|space| self.pin_one(&space, &key))
                    .ok_or(failure);
                if outcome.is_err() {
                    tier.fetches.counts.count(Err(failure));
                }
                return tier.settle(&key, bytes, &outcome);
            }
        };
        let (pages, priority) = (job.pages(), purpose.priority());
        let ticket = tier
            .ssd
            .read(extent, pages, priority, Box::new(move |read| job.end(read)));
        // Dropped when the lock is let go, as in `leave`.
        let unwanted = tier.fetches.shared.table.lock().reading(&key, ticket);
        drop(unwanted);
    }

    /// A job has ended.
    pub(super) fn end_fetch(&self, key: &BlockKey, bytes: u64, outcome: &std::result::Result<Hits, Failure>) {
        if let Some(tier) = self.tier.get() {
            let counted = outcome.as_ref().map(|_| bytes);
            tier.fetches.counts.count(counted.map_err(|failure| *failure));
            tier.settle(key, bytes, outcome);
        }
    }
}

impl Tier {
    /// A fetch that was begun has ended: tells those who wait for it.
    fn settle(&self, key: &BlockKey, bytes: u64, outcome: &std::result::Result<Hits, Failure>) {
        let shared = &self.fetches.shared;
        let ended = shared.table.lock().end(key, bytes);
        shared.changed.notify_one();
        let Some((space, waiters)) = ended else { return };
        let is_cancelled = matches!(outcome, Err(Failure::Cancelled));
        for Waiter { arrivals, number } in waiters {
            // Somebody began to wait for a read that was taken back just then.
            let again = self.find(&space, key).filter(|_| is_cancelled);
            match again {
                Some(extent) => {
                    let wanted = Wanted {
                        key: *key,
                        extent,
                        number,
                    };
                    self.fetches.want(&space, vec![wanted], &arrivals, Purpose::Load);
                }
                None => arrivals.push(Arrival {
                    number,
                    outcome: outcome.clone(),
                }),
            }
        }
    }
}
