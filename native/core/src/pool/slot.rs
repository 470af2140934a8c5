//! The slot table: one fixed-size record for each place that a page can have. format.md has it byte by byte.

use std::fs::File;
use std::ops::Range;

use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;

use super::region::Region;
use crate::error::{Error, ErrorKind, Result};
use crate::space::MAX_HASH_BYTES;
use crate::sync::{Arc, AtomicU64, Ordering, crash_point};

/// Bytes of one record.
pub(crate) const RECORD_BYTES: u64 = 64;
const RECORD_WORDS: usize = 8;
const STATE_BITS: u64 = 0xff;
const HAS_CHECKSUM: u64 = 1 << 8;
const UNVERIFIED: u64 = 1 << 9;
const ZERO_BITS: u64 = 0xfc00;
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
    /// Of the page's bytes, once somebody has made it.
    pub(crate) checksum: Option<u128>,
    /// The page was taken over and not compared with its checksum since.
    pub(crate) is_unverified: bool,
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
        let checksum = record.checksum.unwrap_or(0);
        crash_point();
        key.store((u64::from(record.page_bytes) | place).to_le(), Ordering::Relaxed);
        crash_point();
        checksum_low.store((checksum as u64).to_le(), Ordering::Relaxed);
        checksum_high.store(((checksum >> 64) as u64).to_le(), Ordering::Relaxed);
        for (word, bytes) in hash.iter().zip(record.hash.as_chunks().0) {
            crash_point();
            word.store(u64::from_le_bytes(*bytes).to_le(), Ordering::Relaxed);
        }
        let flags = [
            (record.checksum.is_some(), HAS_CHECKSUM),
            (record.is_unverified, UNVERIFIED),
        ];
        let flags = flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag);
        let state = record.state as u64 | flags.sum::<u64>() | record.sequence << SEQUENCE_SHIFT;
        crash_point();
        word.store(state.to_le(), Ordering::Release);
        Ok(())
    }

    /// The record of a slot; None for a slot that does not exist or a state word that nobody writes.
    pub(crate) fn read(&self, slot: Slot) -> Option<SlotRecord> {
        let [word, key, checksum_low, checksum_high, hash @ ..] = self.words(slot)? else {
            return None;
        };
        let word = u64::from_le(word.load(Ordering::Acquire));
        let checksum_word = |word: &AtomicU64| u128::from(u64::from_le(word.load(Ordering::Relaxed)));
        let checksum = checksum_word(checksum_low) | checksum_word(checksum_high) << 64;
        let key = u64::from_le(key.load(Ordering::Relaxed)).to_le_bytes();
        let [b0, b1, b2, b3, s0, s1, r0, r1] = key;
        let mut record = SlotRecord {
            state: SlotState::of(word)?,
            sequence: word >> SEQUENCE_SHIFT,
            page_bytes: u32::from_le_bytes([b0, b1, b2, b3]),
            space: u16::from_le_bytes([s0, s1]),
            shard: u16::from_le_bytes([r0, r1]),
            hash: [0; MAX_HASH_BYTES as usize],
            checksum: (word & HAS_CHECKSUM != 0).then_some(checksum),
            is_unverified: word & UNVERIFIED != 0,
        };
        if word & ZERO_BITS != 0 {
            return None;
        }
        for (bytes, word) in record.hash.as_chunks_mut().0.iter_mut().zip(hash) {
            *bytes = u64::from_le(word.load(Ordering::Relaxed)).to_le_bytes();
        }
        Some(record)
    }

    /// Moves the record's state on; a reader that sees it sees all that was written before.
    pub(crate) fn set_state(&self, slot: Slot, state: SlotState) {
        self.update(slot, |word| word & !STATE_BITS | state as u64);
    }

    /// Gives a sealed page's record its checksum: the flag after the value, so that whoever sees the flag sees all of it.
    pub(crate) fn set_checksum(&self, slot: Slot, checksum: u128) {
        if let Some([_, _, low, high, ..]) = self.words(slot) {
            crash_point();
            low.store((checksum as u64).to_le(), Ordering::Relaxed);
            crash_point();
            high.store(((checksum >> 64) as u64).to_le(), Ordering::Relaxed);
            self.update(slot, |word| word | HAS_CHECKSUM);
        }
    }

    /// Whether the page has yet to be compared with its checksum.
    pub(crate) fn set_unverified(&self, slot: Slot, is_unverified: bool) {
        let flag = if is_unverified { UNVERIFIED } else { 0 };
        self.update(slot, |word| word & !UNVERIFIED | flag);
    }

    /// Makes the record of any content one of a free slot.
    pub(super) fn clear(&self, slot: Slot) {
        if let Some([word, ..]) = self.words(slot) {
            crash_point();
            word.store(0, Ordering::Release);
        }
    }

    /// Whether nothing was ever written here, or what was is cleared.
    pub(super) fn is_free(&self, slot: Slot) -> bool {
        self.words(slot).and_then(<[_]>::first).is_none_or(|word| {
            u64::from_le(word.load(Ordering::Acquire)) & STATE_BITS == SlotState::Free as u64
        })
    }

    /// The records that the file has memory for, first and behind the last of each run.
    pub(super) fn runs(&self) -> Result<Vec<Range<u32>>> {
        let mut runs = Vec::new();
        let mut at = self.offset;
        let end = self.offset + u64::from(self.count) * RECORD_BYTES;
        while at < end {
            let (data, hole) = match seek(&*self.file, SeekFrom::Data(at)) {
                Ok(data) => (data, seek(&*self.file, SeekFrom::Hole(data))),
                Err(Errno::NXIO) => break,
                Err(errno) => return Err(Error::io("find the slot records in use", errno.into())),
            };
            at = hole.map_err(|errno| Error::io("find the end of slot records in use", errno.into()))?;
            let record = |offset: u64| (offset.clamp(self.offset, end) - self.offset) / RECORD_BYTES;
            runs.push(record(data) as u32..record(at) as u32);
        }
        Ok(runs)
    }

    /// Changes the state word in one step: the page's holder and its reader may both do so.
    fn update(&self, slot: Slot, change: impl Fn(u64) -> u64) {
        if let Some([word, ..]) = self.words(slot) {
            let change = |word| Some(change(u64::from_le(word)).to_le());
            crash_point();
            // The closure never declines, so there is no error.
            let _ = word.fetch_update(Ordering::Release, Ordering::Relaxed, change);
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
