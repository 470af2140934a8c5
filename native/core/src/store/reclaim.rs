//! Making room: evicting blocks, and moving slabs from one page size to another.
//!
//! Each space proposes its own victims; the space whose next victim was unused for longest gives first. If its pages are
//! of the wanted size one block goes, else a slab whose blocks nobody pins goes whole, so that memory follows demand.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::namespace::Namespace;
use super::space::Space;
use super::{Store, evictor};
use crate::demand::Departure;
use crate::index::{BlockId, BlockKey, Removed, Stage};
use crate::pool::{ClassId, Slot, SlotState};
use crate::space::SpaceNumber;
use crate::sync::{Arc, Ordering};

/// After this many victims in a row that could not go, a space is passed over for the rest of an attempt;
const FRUITLESS_VICTIMS: usize = 4096;
/// fewer when each means a look at all pages of a slab.
const FRUITLESS_SLABS: usize = 16;
/// Blocks or slabs that a save lets go at most when it finds no room.
pub(super) const VICTIMS_OF_A_SAVE: usize = 64;

/// How an attempt to make room ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reclaimed {
    /// There is enough room.
    Enough,
    /// There is more room, but not enough.
    Some,
    /// Nothing could go: it is pinned, or being saved.
    Nothing,
}

impl Store {
    /// A page of this class, after one bounded attempt to make room if there is none.
    pub(super) fn allocate(&self, class: ClassId) -> Option<Slot> {
        let slot = self.pool.allocate(class).or_else(|| {
            self.make_room(class, VICTIMS_OF_A_SAVE, || self.pool.room(class).free_pages > 0);
            self.pool.allocate(class)
        });
        if slot.is_none() || evictor::is_low(self.pool.room(class)) {
            self.evictor.wake(class);
        }
        slot
    }

    /// A page of this class if nothing has to go for it, now or soon.
    pub(super) fn allocate_spare(&self, class: ClassId) -> Option<Slot> {
        let room = self.pool.room(class);
        let is_tight = room.free_pages == 0 || evictor::is_low(room);
        if is_tight { None } else { self.pool.allocate(class) }
    }

    /// Lets blocks or slabs go until `is_enough`, at most `victims`. One thread at a time has the turn.
    pub(super) fn make_room(
        &self,
        class: ClassId,
        victims: usize,
        is_enough: impl Fn() -> bool,
    ) -> Reclaimed {
        let _turn = self.reclaim_turn.lock();
        let reclaimed = self.make_room_of(class, victims, &is_enough, || self.pins_hold());
        // Pins keep no page size out of the pool.
        if reclaimed == Reclaimed::Nothing && self.pins_hold() && self.pool.room(class).total_pages == 0 {
            return self.make_room_of(class, victims, &is_enough, || false);
        }
        reclaimed
    }

    /// `pins_hold` is asked anew for each victim, as pinned namespaces come down to what they may keep by what goes.
    fn make_room_of(
        &self,
        class: ClassId,
        victims: usize,
        is_enough: impl Fn() -> bool,
        pins_hold: impl Fn() -> bool,
    ) -> Reclaimed {
        let patience = |space: &Space| match space.uses(class) {
            _ if space.namespace.is_pinned() && pins_hold() => 0,
            true => FRUITLESS_VICTIMS,
            false => FRUITLESS_SLABS,
        };
        self.reclaim(victims, is_enough, patience, |space, block| {
            if space.uses(class) {
                self.evict(block, Departure::Room).is_some()
            } else {
                self.empty_slab_of(block, pins_hold())
            }
        })
    }

    /// Lets a namespace's own blocks go until `is_enough`, at most `victims`.
    pub(super) fn evict_own(
        &self,
        namespace: &Arc<Namespace>,
        victims: usize,
        is_enough: impl FnMut() -> bool,
    ) -> Reclaimed {
        let _turn = self.reclaim_turn.lock();
        let patience = |space: &Space| {
            if Arc::ptr_eq(&space.namespace, namespace) {
                FRUITLESS_VICTIMS
            } else {
                0
            }
        };
        self.reclaim(victims, is_enough, patience, |_, block| {
            self.evict(block, Departure::Quota).is_some()
        })
    }

    /// Lets victims go, of the spaces that `patience` gives some: so many of its victims in a row may be in use. `evict` says
    /// whether one went. The caller has the turn.
    pub(super) fn reclaim(
        &self,
        victims: usize,
        mut is_enough: impl FnMut() -> bool,
        patience: impl Fn(&Space) -> usize,
        mut evict: impl FnMut(&Space, BlockId) -> bool,
    ) -> Reclaimed {
        let mut gone = 0;
        let mut fruitless = HashMap::new();
        loop {
            if is_enough() {
                return Reclaimed::Enough;
            }
            if gone == victims {
                return Reclaimed::Some;
            }
            let may_give =
                |space: &Space| patience(space) > fruitless.get(&space.id).copied().unwrap_or_default();
            let Some(space) = self.coldest_space(may_give) else {
                return if gone == 0 {
                    Reclaimed::Nothing
                } else {
                    Reclaimed::Some
                };
            };
            let victim = space.policy.lock().victim();
            if victim.is_some_and(|block| evict(&space, block)) {
                gone += 1;
                fruitless.remove(&space.id);
            } else {
                *fruitless.entry(space.id).or_insert(0) += 1;
            }
        }
    }

    /// The space whose next victim was unused for longest, of equal ones the oldest; before all others those whose namespace takes
    /// more than it may.
    fn coldest_space(&self, may_give: impl Fn(&Space) -> bool) -> Option<Arc<Space>> {
        let now = self.now();
        let spaces = self.spaces.all();
        let candidates = spaces
            .iter()
            .flatten()
            .filter(|space| space.counts.kept.load(Ordering::Relaxed) > 0 && may_give(space));
        let with_age = candidates.filter_map(|space| {
            let used = space.policy.lock().coldest()?;
            Some((space.namespace.is_over_quota(), now.saturating_sub(used), space))
        });
        with_age
            .min_by_key(|(is_over, age, _)| Reverse((*is_over, *age)))
            .map(|(_, _, space)| Arc::clone(space))
    }

    /// Evicts a block unless it is pinned, being saved or gone; the bytes of memory that are free again.
    pub(super) fn evict(&self, block: BlockId, why: Departure) -> Option<u64> {
        let leave = |slot| self.pool.slots.set_state(slot, SlotState::Evicting);
        let removed = self.index.evict(block, leave)?;
        if removed.stage == Stage::Visible {
            self.note_eviction(&removed, why);
        }
        Some(self.discard(&removed))
    }

    /// Tells policy and accounts that a block has left the index, and frees its pages; the bytes that are free again.
    pub(super) fn discard(&self, removed: &Removed) -> u64 {
        // Held until its pages are free: until then it does not go.
        let space = self.spaces.at(removed.key.space).ok();
        if let Some(space) = &space {
            let fingerprint = self.index.fingerprint(&removed.key);
            space.policy.lock().remove(removed.token, fingerprint);
            space.counts.kept.fetch_sub(1, Ordering::Relaxed);
            match removed.stage {
                Stage::Visible => {
                    space.counts.blocks.fetch_sub(1, Ordering::Relaxed);
                    space.counts.evictions.fetch_add(1, Ordering::Relaxed);
                }
                Stage::Partial => {
                    self.counts.partial_blocks_dropped.fetch_add(1, Ordering::Relaxed);
                }
                // Counted when it was condemned.
                Stage::Condemned => {}
            }
        }
        let bytes = removed.slots.iter().map(|slot| self.pool.free(*slot)).sum();
        if let Some(space) = space {
            space.namespace.give_back(bytes);
        }
        bytes
    }

    /// Evicts all blocks of the slab that has a page of this block, or none of them; whether they went.
    fn empty_slab_of(&self, block: BlockId, pins_hold: bool) -> bool {
        let Some(slot) = self.index.slots(block).first().copied() else {
            return false;
        };
        let slots = self.pool.begin_drain(slot);
        let blocks: Option<Vec<_>> = slots
            .into_iter()
            .map(|slot| {
                self.evictable_block_at(slot)
                    .filter(|_| !pins_hold || !self.is_of_pinned(slot))
            })
            .collect();
        let has_gone = blocks.is_some_and(|mut blocks| {
            blocks.dedup();
            let gone = blocks
                .into_iter()
                .filter_map(|block| self.evict(block, Departure::PageSize));
            gone.count() > 0
        });
        self.pool.end_drain(slot);
        has_gone
    }

    /// Whether a taken slot has a page of a pinned namespace.
    fn is_of_pinned(&self, slot: Slot) -> bool {
        let record = self.pool.slots.read(slot);
        record
            .and_then(|record| self.spaces.at(SpaceNumber(record.space)).ok())
            .is_some_and(|space| space.namespace.is_pinned())
    }

    /// The block of a taken slot, by its record, if it could be evicted now.
    pub(super) fn evictable_block_at(&self, slot: Slot) -> Option<BlockId> {
        let record = self.pool.slots.read(slot)?;
        let block = self.index.evictable(&BlockKey {
            hash: record.hash,
            space: SpaceNumber(record.space),
        })?;
        (self.index.slot(block, record.shard) == Some(slot)).then_some(block)
    }
}
