//! The bytes of a path's files: what names the path, the headers of segments, and the records of their journals.
//!
//! Pure functions between bytes and what they say; `native/docs/format.md` describes both.

mod header;
mod identity;
mod journal;
mod record;

pub(super) use header::SegmentHeader;
pub(super) use identity::Identity;
pub(super) use journal::{JournalEnd, JournalTail, block_at, blocks_for};
pub(super) use record::{Record, SpaceRecord, block_record_bytes, decode, space_record_bytes};

/// Version of all that is described here.
pub(super) const FORMAT_VERSION: u32 = 1;
/// The unit of places and lengths in a segment, and of all transfers.
pub(super) const UNIT: u64 = 4096;

/// `bytes` in whole units.
pub(super) fn padded(bytes: u64) -> u64 {
    bytes.next_multiple_of(UNIT)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
