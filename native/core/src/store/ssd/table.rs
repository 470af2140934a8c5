//! Which blocks are fetched, for whom, and which comes next.

use std::collections::{HashMap, VecDeque};
use std::mem;
use std::time::Instant;

use super::arrivals::Arrivals;
use super::fetch::{Load, Next, Purpose, Wanted};
use crate::index::BlockKey;
use crate::ssd::{Extent, ReadTicket};
use crate::store::space::Space;
use crate::sync::Arc;

/// Keys of fetches that are no longer queued stay in their queue until it has so many more than there are.
const STALE_KEYS_MOST: usize = 1 << 12;

#[derive(Debug)]
pub(super) struct Table {
    fetches: HashMap<BlockKey, Fetch>,
    /// Keys in the order in which their fetches begin; those that are no longer queued are passed over.
    loads: VecDeque<BlockKey>,
    warms: VecDeque<BlockKey>,
    load: Load,
    pub(super) is_closing: bool,
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

/// Who is told of an end, and by which number.
#[derive(Debug)]
pub(super) struct Waiter {
    pub(super) arrivals: Arc<Arrivals>,
    pub(super) number: usize,
}

/// What is left of a fetch that nobody waits for: dropped, it takes its read back, which ends its job.
#[derive(Debug)]
pub(super) struct Left {
    pub(super) was_queued: bool,
    _stage: Stage,
}

impl Table {
    pub(super) fn new() -> Self {
        Self {
            fetches: HashMap::new(),
            loads: VecDeque::new(),
            warms: VecDeque::new(),
            load: Load::new(),
            is_closing: false,
        }
    }

    pub(super) fn load(&self) -> Load {
        self.load
    }

    /// One more waits for a block.
    pub(super) fn want(
        &mut self,
        space: &Arc<Space>,
        wanted: Wanted,
        arrivals: &Arc<Arrivals>,
        purpose: Purpose,
    ) {
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
        self.load.queued_blocks += 1;
        self.load.queued_bytes += bytes;
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

    /// One waits no more; what is left if nobody else does.
    pub(super) fn leave(&mut self, key: &BlockKey, arrivals: &Arc<Arrivals>) -> Option<Left> {
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
                self.load.queued_blocks -= 1;
                self.load.queued_bytes -= fetch.bytes;
                self.drop_stale_keys();
                Some(Left {
                    was_queued: true,
                    _stage: fetch.stage,
                })
            }
            // Its start takes the read back.
            Stage::Starting => None,
            Stage::Reading(ticket) => Some(Left {
                was_queued: false,
                _stage: Stage::Reading(ticket.take()),
            }),
        }
    }

    /// Begins the next fetch, if so many bytes allow it.
    pub(super) fn next(&mut self, most_bytes: u64) -> Option<Next> {
        loop {
            let key = *self.loads.front().or_else(|| self.warms.front())?;
            let fetch = self
                .fetches
                .get_mut(&key)
                .filter(|fetch| matches!(fetch.stage, Stage::Queued(..)));
            let in_flight = self.load.in_flight_bytes;
            let fits = |bytes| in_flight == 0 || in_flight.saturating_add(bytes) <= most_bytes;
            if fetch.as_ref().is_some_and(|fetch| !fits(fetch.bytes)) {
                return None;
            }
            let begun = fetch.map(|fetch| (fetch.bytes, mem::replace(&mut fetch.stage, Stage::Starting)));
            if self.loads.pop_front().is_none() {
                self.warms.pop_front();
            }
            if let Some((bytes, Stage::Queued(extent, purpose))) = begun {
                self.load.begin(bytes);
                return Some(Next { key, extent, purpose });
            }
        }
    }

    /// A fetch is being read; the ticket if nobody waits for it, or if it has ended already.
    pub(super) fn reading(&mut self, key: &BlockKey, ticket: ReadTicket) -> Option<ReadTicket> {
        match self.fetches.get_mut(key) {
            Some(fetch) if matches!(fetch.stage, Stage::Starting) => {
                let is_wanted = !fetch.waiters.is_empty();
                let (kept, unwanted) = if is_wanted {
                    (Some(ticket), None)
                } else {
                    (None, Some(ticket))
                };
                fetch.stage = Stage::Reading(kept);
                unwanted
            }
            _ => Some(ticket),
        }
    }

    /// A fetch that was begun has ended; who waited for it.
    pub(super) fn end(&mut self, key: &BlockKey, bytes: u64) -> Option<(Arc<Space>, Vec<Waiter>)> {
        self.load.in_flight_bytes -= bytes;
        self.load.moved = Instant::now();
        let Fetch { space, waiters, .. } = self.fetches.remove(key)?;
        Some((space, waiters))
    }

    fn drop_stale_keys(&mut self) {
        let keys = self.loads.len() + self.warms.len();
        if keys > self.load.queued_blocks as usize + STALE_KEYS_MOST {
            let fetches = &self.fetches;
            let is_queued = |key: &BlockKey| {
                let stage = fetches.get(key).map(|fetch| &fetch.stage);
                matches!(stage, Some(Stage::Queued(..)))
            };
            self.loads.retain(is_queued);
            self.warms.retain(is_queued);
        }
    }
}
