//! Blocks that leave memory, as [`Demand`](crate::demand::Demand) remembers them, and what it says of blocks that are missed.

use std::time::Duration;

use super::Store;
use super::space::Space;
use crate::demand::{DemandSnapshot, Departure, Evictee, MissReason, Missed};
use crate::eviction::Tick;
use crate::index::{BlockKey, Removed};

impl Store {
    /// What lookups asked for and what eviction took.
    pub fn demand(&self) -> DemandSnapshot {
        self.demand.snapshot(self.opened.elapsed())
    }

    /// A visible block was taken out of the index to be evicted.
    pub(super) fn note_eviction(&self, removed: &Removed, why: Departure) {
        let Ok(space) = self.spaces.at(removed.key.space) else {
            return;
        };
        let (now, began) = (self.elapsed_ticks(), removed.life.began());
        let used = space.policy.lock().used(removed.token).unwrap_or(began);
        let block = Evictee {
            fingerprint: self.index.fingerprint(&removed.key),
            bytes: space.block_bytes,
            was_found: removed.life.was_found(),
            residence: since(began, now),
            idle: since(used, now),
        };
        self.demand.evicted(&block, why);
    }

    /// Why these blocks, of which the first is not cached, are misses: all that are left of a prompt.
    pub(super) fn why_missed<'a>(
        &self,
        space: &Space,
        hashes: impl Iterator<Item = &'a [u8]>,
        fingerprints: &[u32],
    ) -> Missed {
        let mut missed = Missed::default();
        if fingerprints.is_empty() {
            return missed;
        }
        let pool_bytes = self.pool.bytes();
        // A block that never was here has none behind it that is.
        let (mut is_first, mut may_be_behind) = (true, true);
        for (hash, trace) in hashes.zip(self.demand.look_back(fingerprints)) {
            let is_cached = || self.index.contains(&BlockKey::new(space.id, hash));
            let reason = match trace {
                Some(trace) => {
                    if trace.why.is_for_room() {
                        missed.add_ghost(trace.bytes_since, pool_bytes);
                    }
                    MissReason::Left(trace.why)
                }
                None if !is_first && may_be_behind && is_cached() => MissReason::Behind,
                None => {
                    may_be_behind = false;
                    MissReason::New
                }
            };
            missed.add(reason, 1);
            is_first = false;
        }
        missed
    }

    fn elapsed_ticks(&self) -> Tick {
        self.opened.elapsed().as_micros() as Tick
    }
}

fn since(then: Tick, now: Tick) -> Duration {
    Duration::from_micros(now.saturating_sub(then))
}
