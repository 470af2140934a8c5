//! The slot table: one fixed-size record for each place that a page can have. format.md has it byte by byte.

use std::fs::File;

use rustix::fs::{FallocateFlags, fallocate};

use super::region::Region;
use crate::error::{Error, ErrorKind, Result};
use crate::space::MAX_HASH_BYTES;
use crate::sync::{Arc, AtomicU64, Ordering};

/// Bytes of one record.
pub(crate) const RECORD_BYTES: u64 = 64;
const RECORD_WORDS: usize = 8;
const STATE_BITS: u64 = 0xff;
const SEQUENCE_SHIFT: u32 = 16;

/// A place for a page: `slab * (slab_bytes / 4096) + index` of the page in its slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) u32);

/// What a record says of its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SlotState {
    /// Nothing.
    Free = 0,
    /// The record is written, the bytes are not all there.
    Reserved = 1,
    /// The bytes are all there.
    Filled = 2,
    /// The bytes of all shards of the block are there.
    Sealed = 3,
    /// The page is about to be free.
    Evicting = 4,
}

impl SlotState {
    fn of(word: u64) -> Option<Self> {
        [
            Self::Free,
            Self::Reserved,
            Self::Filled,
            Self::Sealed,
            Self::Evicting,
        ]
        .into_iter()
        .find(|state| *state as u64 == word & STATE_BITS)
    }
}

/// A record: which page lies in a slot, and in which state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SlotRecord {
    pub(crate) state: SlotState,
    pub(crate) sequence: u64,
    pub(crate) page_bytes: u32,
    pub(crate) space: u16,
    pub(crate) shard: u16,
    /// Zero after the space's hash length.
    pub(crate) hash: [u8; MAX_HASH_BYTES as usize],
}

/// The mapped records. Each is written by one owner at a time: the page's writer until it is sealed, then who evicts it.
#[derive(Debug)]
pub(crate) struct SlotTable {
    region: Arc<Region>,
    file: Arc<File>,
    offset: u64,
    count: u32,
}

impl SlotTable {
    pub(super) fn new(region: Arc<Region>, file: Arc<File>, offset: u64, count: u32) -> Self {
        Self {
            region,
            file,
            offset,
            count,
        }
    }

    /// Makes sure that the file has memory for these records.
    pub(super) fn allocate(&self, first: Slot, count: u32) -> Result<()> {
        let offset = self.offset + u64::from(first.0) * RECORD_BYTES;
        fallocate(
            &*self.file,
            FallocateFlags::empty(),
            offset,
            u64::from(count) * RECORD_BYTES,
        )
        .map_err(|errno| Error::io(format_args!("allocate {count} slot records"), errno.into()))
    }

    /// Writes the record of a free slot; its state is the last word that changes.
    pub(crate) fn write(&self, slot: Slot, record: &SlotRecord) -> Result<()> {
        let words = self.words(slot).ok_or_else(|| no_slot(slot))?;
        let [word, key, checksum_low, checksum_high, hash @ ..] = words else {
            return Err(no_slot(slot));
        };
        let place = u64::from(record.space) << 32 | u64::from(record.shard) << 48;
        key.store((u64::from(record.page_bytes) | place).to_le(), Ordering::Relaxed);
        checksum_low.store(0, Ordering::Relaxed);
        checksum_high.store(0, Ordering::Relaxed);
        for (word, bytes) in hash.iter().zip(record.hash.as_chunks().0) {
            word.store(u64::from_le_bytes(*bytes).to_le(), Ordering::Relaxed);
        }
        let state = record.state as u64 | record.sequence << SEQUENCE_SHIFT;
        word.store(state.to_le(), Ordering::Release);
        Ok(())
    }

    /// The record of a slot; None for a slot that does not exist or a state that does not.
    pub(crate) fn read(&self, slot: Slot) -> Option<SlotRecord> {
        let [word, key, _, _, hash @ ..] = self.words(slot)? else {
            return None;
        };
        let word = u64::from_le(word.load(Ordering::Acquire));
        let key = u64::from_le(key.load(Ordering::Relaxed)).to_le_bytes();
        let [b0, b1, b2, b3, s0, s1, r0, r1] = key;
        let mut record = SlotRecord {
            state: SlotState::of(word)?,
            sequence: word >> SEQUENCE_SHIFT,
            page_bytes: u32::from_le_bytes([b0, b1, b2, b3]),
            space: u16::from_le_bytes([s0, s1]),
            shard: u16::from_le_bytes([r0, r1]),
            hash: [0; MAX_HASH_BYTES as usize],
        };
        for (bytes, word) in record.hash.as_chunks_mut().0.iter_mut().zip(hash) {
            *bytes = u64::from_le(word.load(Ordering::Relaxed)).to_le_bytes();
        }
        Some(record)
    }

    /// Moves the record's state on; a reader that sees it sees all that was written before.
    pub(crate) fn set_state(&self, slot: Slot, state: SlotState) {
        if let Some([word, ..]) = self.words(slot) {
            let kept = u64::from_le(word.load(Ordering::Relaxed)) & !STATE_BITS;
            word.store((kept | state as u64).to_le(), Ordering::Release);
        }
    }

    fn words(&self, slot: Slot) -> Option<&[AtomicU64]> {
        if slot.0 >= self.count {
            return None;
        }
        self.region
            .words(self.offset + u64::from(slot.0) * RECORD_BYTES, RECORD_WORDS)
    }
}

fn no_slot(slot: Slot) -> Error {
    Error::new(
        ErrorKind::Invalid,
        format!("slot {} is outside of the slot table", slot.0),
    )
}
