//! A warming at work.

use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

use super::Tier;
use super::arrivals::{Arrivals, Failure};
use super::fetch::{Purpose, Wanted};
use super::warm::{Warm, WarmRequest};
use crate::index::BlockKey;
use crate::ssd::SsdSpaceId;
use crate::store::Store;
use crate::store::space::Space;
use crate::sync::Arc;

/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// A block to fetch.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) space: SsdSpaceId,
    pub(super) hash: Vec<u8>,
    pub(super) bytes: u64,
}

/// One warming at work.
pub(super) struct Run<'a> {
    store: &'a Arc<Store>,
    tier: &'a Tier,
    warm: &'a Warm,
    request: &'a WarmRequest,
    arrivals: Arc<Arrivals>,
    spaces: HashMap<SsdSpaceId, Option<Arc<Space>>>,
    /// Those whose pages find no room any more.
    full: BTreeSet<SsdSpaceId>,
    /// Blocks that were asked for, by number.
    on_their_way: HashMap<usize, Asked>,
    bytes: u64,
}

struct Asked {
    key: BlockKey,
    space: SsdSpaceId,
    bytes: u64,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        store: &'a Arc<Store>,
        tier: &'a Tier,
        warm: &'a Warm,
        request: &'a WarmRequest,
    ) -> Self {
        Self {
            store,
            tier,
            warm,
            request,
            arrivals: Arc::default(),
            spaces: HashMap::new(),
            full: BTreeSet::new(),
            on_their_way: HashMap::new(),
            bytes: 0,
        }
    }

    pub(super) fn run(mut self, plan: Vec<Planned>) {
        // Half of what may be on its way stays for loads.
        let most_bytes = self.tier.fetches.most_bytes() / 2;
        for (number, planned) in plan.into_iter().enumerate() {
            while !self.warm.is_cancelled()
                && (self.bytes > 0 && self.bytes + planned.bytes > most_bytes || self.is_too_fast())
            {
                self.take(Instant::now() + LOOK);
            }
            if self.warm.is_cancelled() {
                break;
            }
            self.ask(number, &planned);
        }
        while !self.on_their_way.is_empty() && !self.warm.is_cancelled() {
            self.take(Instant::now() + LOOK);
        }
        let left = self.on_their_way.values().map(|asked| asked.key);
        self.tier.fetches.leave(&self.arrivals, left);
    }

    /// Whether more bytes were asked for than the rate allows by now.
    fn is_too_fast(&self) -> bool {
        let fetched = self.warm.progress().fetched_bytes + self.bytes;
        self.request
            .bytes_per_s
            .is_some_and(|rate| fetched as f64 > rate as f64 * self.warm.began.elapsed().as_secs_f64())
    }

    fn ask(&mut self, number: usize, planned: &Planned) {
        if self.full.contains(&planned.space) {
            return self.warm.note(|progress| progress.no_room_blocks += 1);
        }
        let Some(space) = self.space(planned.space) else {
            return self.warm.note(|progress| progress.failed_blocks += 1);
        };
        let key = BlockKey::new(space.id, &planned.hash);
        let extent = self.tier.ssd.find(planned.space, &planned.hash);
        let Some(extent) = extent.filter(|_| !self.store.index.contains(&key)) else {
            return self.warm.note(|progress| progress.passed_blocks += 1);
        };
        let asked = Asked {
            key,
            space: planned.space,
            bytes: planned.bytes,
        };
        self.bytes += asked.bytes;
        self.on_their_way.insert(number, asked);
        let purpose = Purpose::Warm {
            may_evict: self.request.may_evict,
        };
        let wanted = Wanted { key, extent, number };
        self.tier
            .fetches
            .want(&space, vec![wanted], &self.arrivals, purpose);
        self.take(Instant::now());
    }

    /// The store's space of a space of the tier.
    fn space(&mut self, id: SsdSpaceId) -> Option<Arc<Space>> {
        let (store, tier) = (self.store, self.tier);
        let known = self.spaces.entry(id).or_insert_with(|| {
            let space = tier.ssd.spaces().into_iter().find(|space| space.id == id)?;
            let made = store.space(space.key, space.geometry);
            made.and_then(|id| store.spaces.get(id))
                .inspect_err(|error| tracing::warn!("a namespace is not warmed: {error}"))
                .ok()
        });
        known.clone()
    }

    /// Takes note of what came by `deadline`.
    fn take(&mut self, deadline: Instant) {
        for arrival in self.arrivals.wait(deadline) {
            let Some(asked) = self.on_their_way.remove(&arrival.number) else {
                continue;
            };
            self.bytes -= asked.bytes;
            if matches!(arrival.outcome, Err(Failure::NoRoom)) {
                self.full.insert(asked.space);
            }
            self.warm.note(|progress| match arrival.outcome {
                Ok(_) => {
                    progress.fetched_blocks += 1;
                    progress.fetched_bytes += asked.bytes;
                }
                Err(Failure::NoRoom) => progress.no_room_blocks += 1,
                Err(Failure::Busy) => progress.passed_blocks += 1,
                Err(Failure::Failed | Failure::Corrupt | Failure::Cancelled) => progress.failed_blocks += 1,
            });
        }
    }
}
