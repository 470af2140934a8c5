//! The first unit of a segment file.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::{FORMAT_VERSION, UNIT, u32_at, u64_at};

const MAGIC: &[u8; 8] = b"PEGASEGM";
const CHECKED_BYTES: usize = 48;
/// Of the 128 bits of a path's name.
const MOST_CHANGED_BITS: u32 = 16;

/// What a segment is at present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) struct SegmentHeader {
    /// The path that it belongs to.
    pub(in crate::ssd) path_id: [u8; 16],
    /// Its number, as in the name of its file.
    pub(in crate::ssd) number: u32,
    /// Grows with each segment that a path begins to fill; 0 for one without blocks.
    pub(in crate::ssd) generation: u64,
    /// Bytes of the file.
    pub(in crate::ssd) bytes: u64,
}

impl SegmentHeader {
    /// The first unit of the file.
    pub(in crate::ssd) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(UNIT as usize);
        bytes.extend(MAGIC);
        bytes.extend(FORMAT_VERSION.to_le_bytes());
        bytes.extend(self.number.to_le_bytes());
        bytes.extend(self.generation.to_le_bytes());
        bytes.extend(self.bytes.to_le_bytes());
        bytes.extend(self.path_id);
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes.resize(UNIT as usize, 0);
        bytes
    }

    /// What the unit says; None for bytes that are no header of this format version.
    pub(in crate::ssd) fn decode(bytes: &[u8]) -> Option<Self> {
        let checked = bytes.get(..CHECKED_BYTES)?;
        let is_whole = checked.starts_with(MAGIC)
            && u32_at(checked, 8)? == FORMAT_VERSION
            && u64_at(bytes, CHECKED_BYTES)? == xxh3_64(checked);
        is_whole.then_some(Self {
            number: u32_at(checked, 12)?,
            generation: u64_at(checked, 16)?,
            bytes: u64_at(checked, 24)?,
            path_id: *checked.get(32..)?.first_chunk()?,
        })
    }

    /// Whether the unit, damaged as it may be, is the first one of a segment of this path: whole headers name it, and of others
    /// some bits of the name may have changed, of which those of two paths differ in half.
    pub(in crate::ssd) fn names_path(bytes: &[u8], path_id: &[u8; 16]) -> bool {
        let named = bytes.get(32..CHECKED_BYTES).unwrap_or_default();
        let differing = named.iter().zip(path_id).map(|(a, b)| (a ^ b).count_ones());
        let most = match Self::decode(bytes) {
            Some(_) => 0,
            None => MOST_CHANGED_BITS,
        };
        named.len() == path_id.len() && differing.sum::<u32>() <= most
    }

    /// What the check of the journal's first record begins with: no record counts in another generation, segment or path.
    pub(in crate::ssd) fn first_check(&self) -> u64 {
        let place = xxh3_64_with_seed(&self.path_id, self.generation);
        xxh3_64_with_seed(&self.number.to_le_bytes(), place)
    }
}
