//! One block.

use xxhash_rust::xxh3::xxh3_64;

use super::segments::SegmentId;
use crate::ssd::block::SsdSpaceId;

/// What memory knows of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) struct Entry {
    /// Its hash, zeros behind.
    pub(in crate::ssd) hash: [u8; 32],
    /// See [`check_of`].
    pub(in crate::ssd) check: u64,
    /// Where its first page begins in the segment, in units.
    pub(in crate::ssd) offset: u32,
    /// Its space.
    pub(in crate::ssd) space: u16,
    /// How often it was read, at most 255.
    pub(in crate::ssd) uses: u8,
    /// Whether it was read since it was written where it is.
    pub(in crate::ssd) is_used: bool,
}

impl Entry {
    pub(in crate::ssd) fn space(&self) -> SsdSpaceId {
        SsdSpaceId(self.space)
    }
}

/// The check of all pages of a block together: XXH3-64 over their checksums. The journal has those themselves.
pub(in crate::ssd) fn check_of(checksums: &[u128]) -> u64 {
    let bytes: Vec<u8> = checksums
        .iter()
        .flat_map(|checksum| checksum.to_le_bytes())
        .collect();
    xxh3_64(&bytes)
}

/// Segment and number of an entry, 20 bits each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::ssd) struct Handle([u8; 5]);

/// Entries of one segment, and segments of one tier, at most.
pub(super) const MOST: usize = 1 << 20;

impl Handle {
    pub(in crate::ssd) fn new(segment: SegmentId, number: usize) -> Self {
        let [low @ .., _, _, _] = ((segment.0 as u64) << 20 | number as u64).to_le_bytes();
        Self(low)
    }

    pub(in crate::ssd) fn segment(self) -> SegmentId {
        SegmentId((self.word() >> 20) as u32)
    }

    pub(in crate::ssd) fn number(self) -> usize {
        self.word() as usize % MOST
    }

    fn word(self) -> u64 {
        let [a, b, c, d, e] = self.0;
        u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])
    }
}
