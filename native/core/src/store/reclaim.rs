//! Making room: evicting blocks, and moving slabs from one page size to another.
//!
//! Each space proposes its own victims; the space whose next victim was unused for longest gives first. If its pages are
//! of the wanted size one block goes, else a slab whose blocks nobody pins goes whole, so that memory follows demand.

use std::collections::HashMap;

use super::space::Space;
use super::{Store, evictor};
use crate::index::{BlockId, BlockKey, Removed, Stage};
use crate::pool::{ClassId, Slot, SlotState};
use crate::space::SpaceId;
use crate::sync::{Arc, Ordering};

/// After this many victims in a row that could not go, a space is passed over for the rest of an attempt;
const FRUITLESS_VICTIMS: usize = 4096;
/// fewer when each means a look at all pages of a slab.
const FRUITLESS_SLABS: usize = 16;
/// Blocks or slabs that a save lets go at most when it finds no room.
const VICTIMS_OF_A_SAVE: usize = 64;

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
        let mut gone = 0;
        let mut fruitless = HashMap::new();
        while gone < victims && !is_enough() {
            let Some(space) = self.coldest_space(|space| {
                let limit = if space.uses(class) {
                    FRUITLESS_VICTIMS
                } else {
                    FRUITLESS_SLABS
                };
                fruitless.get(&space.id).is_none_or(|times| *times < limit)
            }) else {
                break;
            };
            let victim = space.policy.lock().victim();
            let has_gone = victim.is_some_and(|block| {
                if space.uses(class) {
                    self.evict(block)
                } else {
                    self.empty_slab_of(block)
                }
            });
            if has_gone {
                gone += 1;
                fruitless.remove(&space.id);
            } else {
                *fruitless.entry(space.id).or_insert(0) += 1;
            }
        }
        match gone {
            _ if is_enough() => Reclaimed::Enough,
            0 => Reclaimed::Nothing,
            _ => Reclaimed::Some,
        }
    }

    /// The space whose next victim was unused for longest.
    fn coldest_space(&self, may_give: impl Fn(&Space) -> bool) -> Option<Arc<Space>> {
        let now = self.now();
        let spaces = self.spaces.all();
        let candidates = spaces
            .iter()
            .flatten()
            .filter(|space| space.counts.kept.load(Ordering::Relaxed) > 0 && may_give(space));
        let with_age = candidates.filter_map(|space| {
            let used = space.policy.lock().coldest()?;
            Some((now.wrapping_sub(used), space))
        });
        with_age
            .max_by_key(|(age, _)| *age)
            .map(|(_, space)| Arc::clone(space))
    }

    /// Evicts a block unless it is pinned, being saved or gone; whether it went.
    pub(super) fn evict(&self, block: BlockId) -> bool {
        let leave = |slot| self.pool.slots.set_state(slot, SlotState::Evicting);
        let removed = self.index.evict(block, leave);
        removed.iter().for_each(|removed| self.discard(removed));
        removed.is_some()
    }

    /// Tells policy and accounts that a block has left the index, and frees its pages.
    pub(super) fn discard(&self, removed: &Removed) {
        if let Ok(space) = self.spaces.get(removed.key.space) {
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
        for slot in &removed.slots {
            self.pool.free(*slot);
        }
    }

    /// Evicts all blocks of the slab that has a page of this block, or none of them; whether they went.
    fn empty_slab_of(&self, block: BlockId) -> bool {
        let Some(slot) = self.index.slots(block).first().copied() else {
            return false;
        };
        let slots = self.pool.begin_drain(slot);
        let blocks: Option<Vec<_>> = slots
            .into_iter()
            .map(|slot| self.evictable_block_at(slot))
            .collect();
        let has_gone = blocks.is_some_and(|mut blocks| {
            blocks.dedup();
            blocks.into_iter().filter(|block| self.evict(*block)).count() > 0
        });
        self.pool.end_drain(slot);
        has_gone
    }

    /// The block of a taken slot, by its record, if it could be evicted now.
    pub(super) fn evictable_block_at(&self, slot: Slot) -> Option<BlockId> {
        let record = self.pool.slots.read(slot)?;
        let block = self.index.evictable(&BlockKey {
            hash: record.hash,
            space: SpaceId(record.space),
        })?;
        (self.index.slot(block, record.shard) == Some(slot)).then_some(block)
    }
}
