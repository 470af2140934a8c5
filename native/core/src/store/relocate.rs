//! Moving pages to other places of the pool, under those who use the cache.

use super::Store;
use super::reclaim::Reclaimed;
use super::space::Space;
use crate::demand::Departure;
use crate::index::BlockId;
use crate::pool::{Slot, SlotState};

/// Victims that one move asks for in one go.
const VICTIMS_OF_A_MOVE: usize = 64;

/// What became of a block that has to leave its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vacated {
    /// It is elsewhere now.
    Moved,
    /// It is evicted.
    Evicted,
    /// Somebody uses it: some of its pages may have moved.
    InUse,
}

/// Why a page did not move.
enum Stays {
    NoRoom,
    InUse,
}

impl Store {
    /// Moves all pages from `first` on of the block that has the taken slot, or evicts it where there is no room for them.
    pub(super) fn vacate(&self, slot: Slot, first: Slot) -> Vacated {
        let Some(block) = self.evictable_block_at(slot) else {
            return Vacated::InUse;
        };
        let leaving = |slot: &Slot| *slot >= first;
        for slot in self.index.slots(block).into_iter().filter(leaving) {
            // In its old place, where those who wait for it look for it.
            self.make_checksum(slot);
        }
        let moved = self.inspect(slot, |space, block, _, _| {
            let mut slots = self.index.slots(block).into_iter().filter(leaving);
            slots.try_for_each(|slot| self.relocate(space, block, slot))
        });
        match moved {
            Some(Ok(())) => Vacated::Moved,
            Some(Err(Stays::InUse)) => Vacated::InUse,
            Some(Err(Stays::NoRoom)) | None if self.evict(block, Departure::Resize).is_some() => {
                Vacated::Evicted
            }
            _ => Vacated::InUse,
        }
    }

    /// Copies a page, which the caller keeps from eviction, to another place.
    fn relocate(&self, space: &Space, block: BlockId, from: Slot) -> Result<(), Stays> {
        // One without a checksum would never get it in another place.
        let record = self
            .pool
            .slots
            .read(from)
            .filter(|record| record.checksum.is_some());
        let record = record.ok_or(Stays::InUse)?;
        let pages = space.shards.get(record.shard as usize).ok_or(Stays::InUse)?;
        let has_room = || self.pool.room(pages.class).free_pages > 0;
        while self.make_room(pages.class, VICTIMS_OF_A_MOVE, has_room) == Reclaimed::Some {}
        let to = self.pool.allocate(pages.class).ok_or(Stays::NoRoom)?;
        let page_at = |slot| self.pool.page(slot, pages.stride, pages.page_bytes);
        let has_moved = page_at(from).zip(page_at(to)).is_some_and(|(page, copy)| {
            page.copy_to(copy);
            // From here on two records name one page, of which a take-over believes either: both places have its bytes.
            let leave = |slot| self.pool.slots.set_state(slot, SlotState::Evicting);
            self.pool.slots.write(to, &record).is_ok()
                && self.index.relocate(block, record.shard, from, to, leave)
        });
        self.pool.free(if has_moved { from } else { to });
        if has_moved { Ok(()) } else { Err(Stays::InUse) }
    }
}
