//! Moving pages to other places of the pool, under those who use the cache.

use super::Store;
use super::reclaim::Reclaimed;
use super::space::Space;
use super::verify::checksum_seed;
use crate::index::BlockId;
use crate::pool::{PagePtr, Slot, SlotRecord, SlotState};

/// Victims that one move asks for in one go.
const VICTIMS_OF_A_MOVE: usize = 64;

/// What became of a page that has to leave its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vacated {
    /// It is elsewhere now.
    Moved,
    /// Its block is evicted, or was.
    Evicted,
    /// Somebody uses its block.
    InUse,
}

impl Store {
    /// Moves the page of a taken slot elsewhere, or evicts its block where there is no room for it.
    pub(super) fn vacate(&self, slot: Slot) -> Vacated {
        let Some(block) = self.evictable_block_at(slot) else {
            return Vacated::InUse;
        };
        let has_room = self.inspect(slot, |space, block, record, page| {
            let to = self.room_elsewhere(space, record)?;
            Some(self.relocate(space, block, (slot, page), record, to))
        });
        match has_room.flatten() {
            Some(true) => Vacated::Moved,
            Some(false) => Vacated::InUse,
            None if self.evict(block) => Vacated::Evicted,
            None => Vacated::InUse,
        }
    }

    /// A free page like the one of this record.
    fn room_elsewhere(&self, space: &Space, record: &SlotRecord) -> Option<(Slot, PagePtr)> {
        let pages = space.shards.get(record.shard as usize)?;
        let has_room = || self.pool.room(pages.class).free_pages > 0;
        while self.make_room(pages.class, VICTIMS_OF_A_MOVE, has_room) == Reclaimed::Some {}
        let slot = self.pool.allocate(pages.class)?;
        let page = self.pool.page(slot, pages.stride, pages.page_bytes);
        if page.is_none() {
            self.pool.free(slot);
        }
        Some((slot, page?))
    }

    /// Copies a page, which the caller keeps from eviction, to a free one; false, with that free again, when the block is pinned.
    fn relocate(
        &self,
        space: &Space,
        block: BlockId,
        (from, page): (Slot, PagePtr),
        record: &SlotRecord,
        (to, copy): (Slot, PagePtr),
    ) -> bool {
        page.copy_to(copy);
        let checksum = || copy.checksum(checksum_seed(space, record));
        let record = SlotRecord {
            checksum: Some(record.checksum.unwrap_or_else(checksum)),
            ..record.clone()
        };
        // From here on two records name one page, of which a take-over believes either: both places have its bytes.
        let leave = |slot| self.pool.slots.set_state(slot, SlotState::Evicting);
        let has_moved = self.pool.slots.write(to, &record).is_ok()
            && self.index.relocate(block, record.shard, from, to, leave);
        self.pool.free(if has_moved { from } else { to });
        has_moved
    }
}
