//! Fetches: each block once at a time whoever waits for it, so many bytes at once, and none for which nobody waits.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::time::Instant;

use super::Tier;
use super::arrivals::{Arrival, Arrivals, Failure};
use super::job::Job;
use crate::index::BlockKey;
use crate::ssd::{Extent, Priority, ReadTicket};
use crate::store::save::Eviction;
use crate::store::space::Space;
use crate::store::{Hits, Store};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};

/// All fetches of a store.
#[derive(Debug)]
pub(super) struct Fetches {
    table: Mutex<Table>,
    /// Bytes that may be on their way at once.
    most_bytes: u64,
    pub(super) counts: FetchCounts,
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
    fn count(&self, outcome: Result<u64, Failure>) {
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

#[derive(Debug)]
struct Table {
    fetches: HashMap<BlockKey, Fetch>,
    /// Keys in the order in which their fetches begin; those that are no longer queued are passed over.
    loads: VecDeque<BlockKey>,
    warms: VecDeque<BlockKey>,
    queued_blocks: u64,
    queued_bytes: u64,
    in_flight_bytes: u64,
    last_end: Instant,
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

/// A block that somebody waits for, or that is being read all the same.
#[derive(Debug)]
struct Fetch {
    space: Arc<Space>,
    bytes: u64,
    waiters: Vec<Waiter>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Queued(Extent, Purpose),
    /// Its pages are being reserved.
    Starting,
    Reading(Option<ReadTicket>),
}

#[derive(Debug)]
struct Waiter {
    arrivals: Arc<Arrivals>,
    number: usize,
}

/// A block that is on a disk.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) key: BlockKey,
    pub(super) extent: Extent,
    /// What the arrival says.
    pub(super) number: usize,
}

/// Bytes on their way, and those that wait for their turn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Load {
    pub(super) in_flight_bytes: u64,
    pub(super) queued_blocks: u64,
    pub(super) queued_bytes: u64,
}

impl Fetches {
    pub(super) fn new(most_bytes: u64) -> Self {
        Self {
            table: Mutex::new(Table {
                fetches: HashMap::new(),
                loads: VecDeque::new(),
                warms: VecDeque::new(),
                queued_blocks: 0,
                queued_bytes: 0,
                in_flight_bytes: 0,
                last_end: Instant::now(),
            }),
            most_bytes,
            counts: FetchCounts::default(),
        }
    }

    /// Bytes that may be on their way at once.
    pub(super) fn most_bytes(&self) -> u64 {
        self.most_bytes
    }

    /// How much there is to do.
    pub(super) fn load(&self) -> Load {
        let table = self.table.lock();
        Load {
            in_flight_bytes: table.in_flight_bytes,
            queued_blocks: table.queued_blocks,
            queued_bytes: table.queued_bytes,
        }
    }

    /// When a fetch last ended, in whatever way.
    pub(super) fn last_end(&self) -> Instant {
        self.table.lock().last_end
    }

    /// Nobody waits here for these blocks any more. Fetches that nobody else waits for end unless they are being read.
    pub(super) fn leave(&self, arrivals: &Arc<Arrivals>, keys: impl Iterator<Item = BlockKey>) {
        // Dropped when the lock is let go: taking a read back ends its job, which takes the lock.
        let mut left = Vec::new();
        {
            let mut table = self.table.lock();
            for key in keys {
                left.extend(table.leave(&key, arrivals));
            }
        }
        let queued = left.iter().filter(|stage| matches!(stage, Stage::Queued(..)));
        self.counts
            .cancelled
            .fetch_add(queued.count() as u64, Ordering::Relaxed);
        drop(left);
    }

    fn next(&self) -> Option<(BlockKey, Extent, Purpose)> {
        let mut table = self.table.lock();
        loop {
            let key = *table.loads.front().or_else(|| table.warms.front())?;
            let bytes = match table.fetches.get(&key) {
                Some(Fetch {
                    stage: Stage::Queued(..),
                    bytes,
                    ..
                }) => Some(*bytes),
                _ => None,
            };
            let is_idle = table.in_flight_bytes == 0;
            let fits = |bytes| is_idle || table.in_flight_bytes.saturating_add(bytes) <= self.most_bytes;
            if bytes.is_some_and(|bytes| !fits(bytes)) {
                return None;
            }
            if table.loads.pop_front().is_none() {
                table.warms.pop_front();
            }
            let Some(bytes) = bytes else { continue };
            let fetch = table.fetches.get_mut(&key)?;
            let Stage::Queued(extent, purpose) = mem::replace(&mut fetch.stage, Stage::Starting) else {
                continue;
            };
            table.queued_blocks -= 1;
            table.queued_bytes -= bytes;
            table.in_flight_bytes += bytes;
            return Some((key, extent, purpose));
        }
    }
}

impl Table {
    fn want(&mut self, space: &Arc<Space>, wanted: Wanted, arrivals: &Arc<Arrivals>, purpose: Purpose) {
        let waiter = Waiter {
            arrivals: Arc::clone(arrivals),
            number: wanted.number,
        };
        if let Some(fetch) = self.fetches.get_mut(&wanted.key) {
            fetch.waiters.push(waiter);
            if let Stage::Queued(_, queued @ Purpose::Warm { .. }) = &mut fetch.stage
                && purpose == Purpose::Load
            {
                *queued = purpose;
                self.loads.push_back(wanted.key);
            }
            return;
        }
        let bytes = wanted.extent.bytes();
        self.queued_blocks += 1;
        self.queued_bytes += bytes;
        match purpose {
            Purpose::Load => self.loads.push_back(wanted.key),
            Purpose::Warm { .. } => self.warms.push_back(wanted.key),
        }
        self.fetches.insert(
            wanted.key,
            Fetch {
                space: Arc::clone(space),
                bytes,
                waiters: vec![waiter],
                stage: Stage::Queued(wanted.extent, purpose),
            },
        );
    }

    /// What is left of a fetch that nobody waits for now.
    fn leave(&mut self, key: &BlockKey, arrivals: &Arc<Arrivals>) -> Option<Stage> {
        let fetch = self.fetches.get_mut(key)?;
        fetch
            .waiters
            .retain(|waiter| !Arc::ptr_eq(&waiter.arrivals, arrivals));
        if !fetch.waiters.is_empty() {
            return None;
        }
        match &mut fetch.stage {
            Stage::Queued(..) => {
                let fetch = self.fetches.remove(key)?;
                self.queued_blocks -= 1;
                self.queued_bytes -= fetch.bytes;
                Some(fetch.stage)
            }
            // Its start takes the read back.
            Stage::Starting => None,
            Stage::Reading(ticket) => Some(Stage::Reading(ticket.take())),
        }
    }
}

impl Store {
    /// Fetches these blocks of a space; `arrivals` hears of each, unless it leaves.
    pub(super) fn fetch(
        self: &Arc<Self>,
        tier: &Tier,
        space: &Arc<Space>,
        wanted: Vec<Wanted>,
        arrivals: &Arc<Arrivals>,
        purpose: Purpose,
    ) {
        {
            let mut table = tier.fetches.table.lock();
            for one in wanted {
                table.want(space, one, arrivals, purpose);
            }
        }
        self.begin_fetches(tier);
    }

    /// Begins what may begin now.
    fn begin_fetches(self: &Arc<Self>, tier: &Tier) {
        while let Some((key, extent, purpose)) = tier.fetches.next() {
            self.begin_fetch(tier, key, extent, purpose);
        }
    }

    fn begin_fetch(self: &Arc<Self>, tier: &Tier, key: BlockKey, extent: Extent, purpose: Purpose) {
        let (job, bytes) = (
            Job::reserve(self, &key, &extent, purpose.eviction()),
            extent.bytes(),
        );
        let job = match job {
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
                return self.settle_fetch(tier, &key, bytes, outcome);
            }
        };
        let pages = job.pages();
        let ticket = tier.ssd.read(
            extent,
            pages,
            purpose.priority(),
            Box::new(move |read| job.end(read)),
        );
        let unwanted = {
            let mut table = tier.fetches.table.lock();
            match table.fetches.get_mut(&key) {
                Some(fetch) if matches!(fetch.stage, Stage::Starting) => {
                    let is_wanted = !fetch.waiters.is_empty();
                    let mut ticket = Some(ticket);
                    fetch.stage = Stage::Reading(if is_wanted { ticket.take() } else { None });
                    ticket
                }
                _ => {
                    // It has ended already.
                    drop(table);
                    ticket.detach();
                    None
                }
            }
        };
        drop(unwanted);
    }

    /// A fetch that was begun has ended.
    pub(super) fn end_fetch(self: &Arc<Self>, key: &BlockKey, bytes: u64, outcome: Result<Hits, Failure>) {
        if let Some(tier) = &self.tier {
            let counted = outcome.as_ref().map(|_| bytes);
            tier.fetches.counts.count(counted.map_err(|failure| *failure));
            self.settle_fetch(tier, key, bytes, outcome);
            self.begin_fetches(tier);
        }
    }

    fn settle_fetch(
        self: &Arc<Self>,
        tier: &Tier,
        key: &BlockKey,
        bytes: u64,
        outcome: Result<Hits, Failure>,
    ) {
        let fetches = &tier.fetches;
        let ended = {
            let mut table = fetches.table.lock();
            table.in_flight_bytes -= bytes;
            table.last_end = Instant::now();
            table.fetches.remove(key)
        };
        let Some(Fetch { space, waiters, .. }) = ended else {
            return;
        };
        let is_cancelled = matches!(outcome, Err(Failure::Cancelled));
        for Waiter { arrivals, number } in waiters {
            // Somebody began to wait for a read that was taken back just then.
            let again = tier.find(&space, key).filter(|_| is_cancelled);
            match again {
                Some(extent) => {
                    let wanted = Wanted {
                        key: *key,
                        extent,
                        number,
                    };
                    let mut table = fetches.table.lock();
                    table.want(&space, wanted, &arrivals, Purpose::Load);
                }
                None => arrivals.push(Arrival {
                    number,
                    outcome: outcome.clone(),
                }),
            }
        }
    }
}
