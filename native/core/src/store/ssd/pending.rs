//! A lookup across tiers: what it found, and what it still waits for.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::Tier;
use super::arrivals::Arrivals;
use super::fetch::{Purpose, Wanted};
use crate::demand::MissReason;
use crate::error::Result;
use crate::index::BlockKey;
use crate::space::SpaceId;
use crate::store::Store;
use crate::store::lookup::{Hits, Prefix};
use crate::sync::Arc;

/// A lookup does not wait longer than this.
const WAIT_MOST: Duration = Duration::from_secs(10);

/// What a lookup across tiers found.
#[derive(Debug)]
pub enum Found {
    /// All that it will find.
    Ready(TierHits),
    /// Some blocks are on their way.
    Pending(PendingLookup),
}

/// Cached blocks, all of which can be loaded now, and where they were.
#[derive(Debug)]
pub struct TierHits {
    /// The blocks.
    pub hits: Hits,
    /// How many of them were on ssd when they were looked up.
    pub ssd_blocks: usize,
}

/// A lookup that waits for blocks from the ssd tier; dropped, it waits no more.
///
/// As a future it ends when nothing that it waits for is missing.
#[derive(Debug)]
pub struct PendingLookup {
    store: Arc<Store>,
    prefix: Prefix,
    /// Blocks that were on ssd, in the order of their numbers.
    fetched: Vec<FetchedBlock>,
    /// Those of them that are on their way.
    missing: usize,
    arrivals: Arc<Arrivals>,
    began: Instant,
}

#[derive(Debug)]
struct FetchedBlock {
    key: BlockKey,
    /// Its place in the prefix.
    number: usize,
    has_arrived: bool,
}

impl Store {
    /// The longest prefix of these packed hashes whose blocks are in the pool or on ssd.
    ///
    /// Blocks on ssd are fetched, unless that takes longer than to compute what is found from the first of them on, at
    /// `recompute` a block; None: they are fetched in any case.
    ///
    /// # Errors
    /// `Invalid` when the bytes are not a whole number of the space's hashes.
    pub fn lookup_tiers(
        self: &Arc<Self>,
        space: SpaceId,
        hashes: &[u8],
        recompute: Option<Duration>,
    ) -> Result<Found> {
        let mut on_ssd = Vec::new();
        let began = Instant::now();
        let mut prefix = self.pin_prefix(space, hashes, |space, key, number| {
            let extent = self.tier.get()?.find(space, &key)?;
            on_ssd.push(Wanted { key, extent, number });
            Some(())
        })?;
        let hash_bytes = prefix.space().geometry.hash_bytes as usize;
        let found = hashes.chunks_exact(hash_bytes).take(prefix.len());
        self.offer_reused(found.map(|hash| BlockKey::new(space, hash)));
        let Some(tier) = self.tier.get().filter(|_| !on_ssd.is_empty()) else {
            return Ok(Found::Ready(TierHits {
                hits: prefix.into_hits(MissReason::Unfetched),
                ssd_blocks: 0,
            }));
        };
        let first = on_ssd.first().map_or(0, |wanted| wanted.number);
        let bytes = on_ssd.iter().map(|wanted| wanted.extent.bytes()).sum();
        if !tier.is_worth(bytes, prefix.len() - first, recompute, began) {
            prefix.truncate(first);
            return Ok(Found::Ready(TierHits {
                hits: prefix.into_hits(MissReason::Declined),
                ssd_blocks: 0,
            }));
        }
        let fetched = on_ssd.iter().map(|wanted| FetchedBlock {
            key: wanted.key,
            number: wanted.number,
            has_arrived: false,
        });
        let mut pending = PendingLookup {
            store: Arc::clone(self),
            fetched: fetched.collect(),
            missing: on_ssd.len(),
            arrivals: Arc::default(),
            began,
            prefix,
        };
        for (at, wanted) in on_ssd.iter_mut().enumerate() {
            wanted.number = at;
        }
        let space = pending.prefix.space();
        tier.fetches.want(space, on_ssd, &pending.arrivals, Purpose::Load);
        Ok(if pending.is_ready(None) {
            Found::Ready(pending.finish())
        } else {
            Found::Pending(pending)
        })
    }
}

impl PendingLookup {
    /// Blocks that are on their way.
    pub fn missing(&self) -> usize {
        self.missing
    }

    /// When it began.
    pub fn began(&self) -> Instant {
        self.began
    }

    /// Whether it has waited for as long as a lookup may: what is there by then has to do.
    pub fn is_overdue(&self, now: Instant) -> bool {
        let is_stalled = |tier: &Tier| tier.fetches.load().is_stalled(now);
        now.saturating_duration_since(self.began) >= WAIT_MOST
            || self.store.tier.get().is_some_and(is_stalled)
    }

    /// Ends the wait: the prefix that is there by now.
    pub fn finish(mut self) -> TierHits {
        self.is_ready(None);
        let missing = self.fetched.iter().find(|block| !block.has_arrived);
        if let Some(number) = missing.map(|block| block.number) {
            self.give_up_from(number);
        }
        TierHits {
            hits: self.prefix.take().into_hits(MissReason::Unfetched),
            ssd_blocks: self.fetched.len(),
        }
    }

    /// Takes note of what came; whether nothing is missing now. If something is, `waker` is woken when more comes.
    fn is_ready(&mut self, waker: Option<&Waker>) -> bool {
        for arrival in self.arrivals.take(waker) {
            let Some(block) = self.fetched.get_mut(arrival.number) else {
                // Behind one that failed.
                continue;
            };
            let number = block.number;
            // The arrival's pin keeps it until it has one of this lookup's own.
            if arrival.outcome.is_ok() && self.prefix.pin(number, &block.key) {
                block.has_arrived = true;
                self.missing -= 1;
            } else {
                self.give_up_from(number);
            }
        }
        self.missing == 0
    }

    /// The prefix ends before this number: nobody waits for what is behind it.
    fn give_up_from(&mut self, number: usize) {
        self.prefix.truncate(number);
        let at = self.fetched.partition_point(|block| block.number < number);
        let behind = self.fetched.split_off(at);
        self.leave(&behind);
        self.missing = self.fetched.iter().filter(|block| !block.has_arrived).count();
    }

    fn leave(&self, blocks: &[FetchedBlock]) {
        if let Some(tier) = self.store.tier.get() {
            let missing = blocks.iter().filter(|block| !block.has_arrived);
            tier.fetches.leave(&self.arrivals, missing.map(|block| block.key));
        }
    }
}

impl Future for PendingLookup {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.is_ready(Some(context.waker())) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for PendingLookup {
    fn drop(&mut self) {
        let left = std::mem::take(&mut self.fetched);
        self.leave(&left);
    }
}
