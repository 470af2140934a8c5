//! How much of the pool is on ssd, and what may be written there without driving that out.

use super::Tier;
use crate::pool::Slot;
use crate::store::Store;

/// Blocks of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Copied {
    /// Those that are on ssd, too.
    pub(super) blocks: u64,
    /// Bytes of their pages.
    pub(super) bytes: u64,
    /// Those that are not.
    pub(super) missing_blocks: u64,
}

/// What a look at all of the pool may write where that lets blocks of the tier go: as many bytes as the tier has of blocks that
/// are not in the pool, so that it does not drive out what it has written itself.
#[derive(Debug, Default)]
pub(super) struct Spare(Option<u64>);

impl Spare {
    /// Takes the bytes of a block; false when there are not as many.
    pub(super) fn take(&mut self, store: &Store, tier: &Tier, bytes: u64) -> bool {
        if tier.ssd.has_room() {
            return true;
        }
        let spare = self.0.get_or_insert_with(|| {
            let held: u64 = tier.ssd.spaces().iter().map(|space| space.bytes).sum();
            held.saturating_sub(store.copied().bytes)
        });
        let left = spare.checked_sub(bytes);
        *spare = left.unwrap_or(*spare);
        left.is_some()
    }
}

impl Store {
    /// Looks at each block of the pool.
    pub(super) fn copied(&self) -> Copied {
        let mut copied = Copied::default();
        let mut next = Slot(0);
        while let Some(slot) = self.pool.next_taken(next) {
            next = Slot(slot.0 + 1);
            let key = self.first_page_at(slot);
            let space = key.and_then(|key| Some((key, self.spaces.at(key.space).ok()?)));
            match (self.tier.get(), space) {
                (Some(tier), Some((key, space))) if tier.find(&space, &key).is_some() => {
                    copied.blocks += 1;
                    copied.bytes += space.block_bytes;
                }
                (_, Some(_)) => copied.missing_blocks += 1,
                (_, None) => {}
            }
        }
        copied
    }
}
