//! Comparing pages with their checksums, and what becomes of a block that is not what was saved.

use std::time::Instant;

use super::Store;
use super::lookup::Hits;
use super::space::Space;
use crate::checksum::checksum_seed;
use crate::demand::Departure;
use crate::error::{Error, ErrorKind, Result};
use crate::index::{BlockId, BlockKey};
use crate::pool::{PagePtr, Slot, SlotRecord, SlotState};
use crate::space::SpaceNumber;
use crate::sync::Ordering;

/// When pages are compared with their checksums.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Verify {
    /// At each load.
    Always,
    /// At the first load after the pool was taken over, and in the background.
    #[default]
    First,
    /// Never.
    Off,
}

impl Verify {
    /// All settings, in the order in which they are listed to people.
    pub const ALL: [Self; 3] = [Self::Always, Self::First, Self::Off];

    /// The word for settings, status and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::First => "first",
            Self::Off => "off",
        }
    }
}

impl Hits {
    /// Whether [`verify`](Self::verify) has nothing to read of this page: its answer then comes at once.
    pub fn is_verified(&self, index: usize, shard: u32) -> bool {
        let pins = &*self.pins;
        match pins.store.verify {
            Verify::Off => true,
            Verify::Always => false,
            Verify::First => {
                let block = pins.blocks.get(index).copied();
                let slot = block.and_then(|block| pins.store.index.slot(block, shard as u16));
                let record = slot.and_then(|slot| pins.store.pool.slots.read(slot));
                record.is_some_and(|record| !record.is_unverified)
            }
        }
    }

    /// Compares the page of one shard of the block at `index` with its checksum, if the store's setting asks for that.
    ///
    /// To be called before the page is copied to an engine, outside of any lock: it reads the whole page.
    ///
    /// # Errors
    /// `Corrupt` for a page that is not what was saved, `Invalid` for one outside of the hits or shards.
    pub fn verify(&self, index: usize, shard: u32) -> Result<()> {
        let pins = &*self.pins;
        let (store, space) = (&pins.store, &pins.space);
        let pages = space.shards.get(shard as usize).copied();
        let (Some(block), Some(pages)) = (pins.blocks.get(index).copied(), pages) else {
            let message = format!("block {index} of shard {shard} is not among the hits");
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        let slot = store.index.slot(block, shard as u16).ok_or_else(corrupt)?;
        if store.verify == Verify::Off {
            return Ok(());
        }
        let record = store.pool.slots.read(slot);
        let page = store.pool.page(slot, pages.stride, pages.page_bytes);
        let (Some(record), Some(page)) = (record, page) else {
            return Err(corrupt());
        };
        if store.verify == Verify::First && !record.is_unverified {
            return Ok(());
        }
        let start = Instant::now();
        let is_right = store.compare(space, block, slot, &record, page);
        let counts = &store.counts.verified;
        counts.pages.fetch_add(1, Ordering::Relaxed);
        counts.bytes.fetch_add(pages.page_bytes, Ordering::Relaxed);
        counts
            .nanoseconds
            .fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
        if is_right { Ok(()) } else { Err(corrupt()) }
    }
}

impl Store {
    /// Shows a sealed page to `look` while its block cannot be evicted; None when no visible block has a page there.
    pub(super) fn inspect<T>(
        &self,
        slot: Slot,
        look: impl FnOnce(&Space, BlockId, &SlotRecord, PagePtr) -> T,
    ) -> Option<T> {
        // Only to find the block: the record may change at any time.
        let record = self.pool.slots.read(slot)?;
        let space = self.spaces.at(SpaceNumber(record.space)).ok()?;
        let key = BlockKey {
            hash: record.hash,
            space: space.id.number,
        };
        let block = self.index.begin_inspection(&key)?;
        let _inspection = Inspection { store: self, block };
        let is_there = self.index.slot(block, record.shard) == Some(slot);
        let pages = space.shards.get(record.shard as usize).filter(|_| is_there)?;
        let record = self.pool.slots.read(slot)?;
        let page = self.pool.page(slot, pages.stride, pages.page_bytes)?;
        Some(look(&space, block, &record, page))
    }

    /// Whether a page that cannot be evicted is what its checksum says; its block is dropped if not.
    pub(super) fn compare(
        &self,
        space: &Space,
        block: BlockId,
        slot: Slot,
        record: &SlotRecord,
        page: PagePtr,
    ) -> bool {
        let Some(expected) = record.checksum else {
            return true;
        };
        let is_right = page.checksum(checksum_seed(&space.key, record.shard, &record.hash)) == expected;
        if !is_right {
            self.condemn(space, block, slot);
        } else if record.is_unverified {
            self.pool.slots.set_unverified(slot, false);
        }
        is_right
    }

    /// Drops a block that the caller keeps from eviction: nothing finds it from now on.
    fn condemn(&self, space: &Space, block: BlockId, slot: Slot) {
        let leave = |slot| self.pool.slots.set_state(slot, SlotState::Evicting);
        if self.index.condemn(block, leave) {
            space.counts.blocks.fetch_sub(1, Ordering::Relaxed);
            self.counts.corrupt_blocks.fetch_add(1, Ordering::Relaxed);
            if let Some(record) = self.pool.slots.read(slot) {
                let fingerprint = self.index.fingerprint(&BlockKey {
                    hash: record.hash,
                    space: space.id.number,
                });
                self.demand
                    .left(fingerprint, space.block_bytes, Departure::Corrupt);
            }
            tracing::error!(
                space = %space.key,
                slot = slot.0,
                "a page is not what was saved, so its block is dropped: check the memory of this machine"
            );
        }
    }
}

/// A look at a page, which ends when this is dropped.
struct Inspection<'a> {
    store: &'a Store,
    block: BlockId,
}

impl Drop for Inspection<'_> {
    fn drop(&mut self) {
        if let Some(removed) = self.store.index.end_inspection(self.block).removed {
            self.store.discard(&removed);
        }
    }
}

fn corrupt() -> Error {
    Error::new(
        ErrorKind::Corrupt,
        "a page is not what was saved, so its block was dropped: compute it anew",
    )
}
