//! Sizes: slabs, pages, and where a slot's bytes are.

use super::slot::Slot;
use crate::count::counted;
use crate::error::{Error, ErrorKind, Result};

/// Pages begin at multiples of this and are padded to it.
pub(crate) const PAGE_UNIT: u64 = 4096;
/// A class that gets a slab takes about this part of the pool from the others.
const SLABS_PER_POOL: u64 = 64;
const MIN_SLAB_BYTES: u64 = 1 << 20;
const MAX_SLAB_BYTES: u64 = 256 << 20;
/// Fewer slabs than this are no pool for pages of several sizes: another size keeps its slabs only with these.
const LEAST_SLABS: u64 = 16;
/// The index has 32 bits for a slot and keeps the highest numbers for other meanings.
const MAX_POOL_BYTES: u64 = 15 << 40;

/// How a pool is split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    pub(crate) pool_bytes: u64,
    pub(crate) slab_bytes: u64,
    /// Records of the slot table: at least one for each page that the pool has room for.
    pub(crate) slots: u32,
}

impl Geometry {
    /// Rounds the pool down to whole slabs and huge pages.
    pub(crate) fn of(pool_bytes: u64, huge_page_bytes: u64) -> Result<Self> {
        let least = MIN_SLAB_BYTES.max(huge_page_bytes);
        if !(least..=MAX_POOL_BYTES).contains(&pool_bytes) {
            return Err(Error::new(
                ErrorKind::Config,
                format!(
                    "the pool size is {}, allowed are {least} to {MAX_POOL_BYTES}: \
                     choose one of these",
                    counted(pool_bytes, "byte")
                ),
            ));
        }
        let slab_bytes =
            (1 << (pool_bytes / SLABS_PER_POOL).max(1).ilog2()).clamp(MIN_SLAB_BYTES, MAX_SLAB_BYTES);
        let unit = slab_bytes.max(huge_page_bytes);
        let pool_bytes = pool_bytes / unit * unit;
        Ok(Self {
            pool_bytes,
            slab_bytes,
            slots: (pool_bytes / PAGE_UNIT) as u32,
        })
    }

    /// Whether this is a split that `of` and `resized` can make.
    pub(super) fn is_possible(self) -> bool {
        let is_slab =
            self.slab_bytes.is_power_of_two() && (MIN_SLAB_BYTES..=MAX_SLAB_BYTES).contains(&self.slab_bytes);
        is_slab && u64::from(self.slots) >= self.pool_bytes / PAGE_UNIT
    }

    /// With records for a pool that grows to this many bytes.
    pub(super) fn with_room_for(self, most_bytes: u64) -> Self {
        let slots = (most_bytes.min(MAX_POOL_BYTES) / PAGE_UNIT) as u32;
        Self {
            slots: self.slots.max(slots),
            ..self
        }
    }

    /// The most bytes that there are records for, in whole slabs.
    pub(super) fn most_bytes(self) -> u64 {
        u64::from(self.slots) * PAGE_UNIT / self.slab_bytes * self.slab_bytes
    }

    /// These slabs in a pool of another size.
    ///
    /// # Errors
    /// `Config` for a size that has too few of them or, at its largest, too many.
    pub(super) fn resized(self, pool_bytes: u64, huge_page_bytes: u64) -> Result<Self> {
        let unit = self.slab_bytes.max(huge_page_bytes);
        let new = Self::of(pool_bytes, huge_page_bytes)?;
        let pool_bytes = pool_bytes / unit * unit;
        if new.slab_bytes != self.slab_bytes && pool_bytes < LEAST_SLABS * self.slab_bytes {
            let least = LEAST_SLABS * self.slab_bytes;
            return Err(Error::new(
                ErrorKind::Config,
                format!(
                    "a pool of {} has too few slabs of {} bytes: give at least {least} bytes, or remove \
                     the pool (pegaflow stop --purge) and start with a smaller --pool-size",
                    counted(pool_bytes, "byte"),
                    self.slab_bytes
                ),
            ));
        }
        Ok(Self { pool_bytes, ..self }.with_room_for(pool_bytes))
    }

    /// Slabs of the whole pool.
    pub(crate) fn slabs(self) -> u32 {
        (self.pool_bytes / self.slab_bytes) as u32
    }

    /// The first slot of a slab.
    pub(crate) fn first_slot(self, slab: u32) -> Slot {
        Slot(slab * self.slots_per_slab())
    }

    /// The slab of a slot, and the page's index in it.
    pub(crate) fn place(self, slot: Slot) -> (u32, u32) {
        (slot.0 / self.slots_per_slab(), slot.0 % self.slots_per_slab())
    }

    /// Where in the pool a slot's page begins, in a slab of pages of `stride` bytes.
    pub(crate) fn offset(self, slot: Slot, stride: u64) -> u64 {
        let (slab, index) = self.place(slot);
        u64::from(slab) * self.slab_bytes + u64::from(index) * stride
    }

    /// Bytes that a page takes.
    ///
    /// # Errors
    /// `Config` for a page that no slab can hold.
    pub(crate) fn stride(self, page_bytes: u64) -> Result<u64> {
        if page_bytes == 0 {
            return Err(Error::new(
                ErrorKind::Invalid,
                "a page has no bytes: give at least 1",
            ));
        }
        if page_bytes > self.slab_bytes {
            let enough = page_bytes.next_power_of_two().saturating_mul(SLABS_PER_POOL);
            let remedy = if page_bytes <= MAX_SLAB_BYTES {
                format!(
                    "remove the pool (pegaflow stop --purge) and give a --pool-size of at least {enough} bytes, or make blocks smaller"
                )
            } else {
                "make blocks smaller (vLLM's --block-size)".to_owned()
            };
            return Err(Error::new(
                ErrorKind::Config,
                format!(
                    "a page of {page_bytes} bytes does not fit in a slab of {} bytes (pool of {} bytes): {remedy}",
                    self.slab_bytes, self.pool_bytes
                ),
            ));
        }
        Ok(page_bytes.next_multiple_of(PAGE_UNIT))
    }

    fn slots_per_slab(self) -> u32 {
        (self.slab_bytes / PAGE_UNIT) as u32
    }
}
