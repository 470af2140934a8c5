//! A segment that is being filled: data from its begin, its journal from its end.

use std::collections::HashSet;

use super::super::format::{
    JournalEnd, JournalTail, Record, SegmentHeader, SpaceRecord, UNIT, block_record_bytes, blocks_for,
    space_record_bytes,
};
use super::super::index::{SegmentId, SpaceInfo};
use super::Segment;
use crate::sync::Arc;

/// Bytes of a record of fixed length, of which each write of a journal has one beside its blocks.
const FIXED_RECORD_BYTES: u64 = 28;

/// The end of a segment, where blocks and records are added.
#[derive(Debug)]
pub(super) struct OpenSegment {
    pub(super) segment: Arc<Segment>,
    pub(super) id: SegmentId,
    /// Where the next block goes.
    data_end: u64,
    journal: JournalTail,
    /// Bytes of the journal when all blocks that have a place have their records.
    planned: u64,
    /// Spaces whose record is planned, and whose record is there.
    planned_spaces: HashSet<u16>,
    spaces: HashSet<u16>,
    /// Batches that have places here and no records yet.
    pub(super) batches: usize,
}

impl OpenSegment {
    /// A segment of which nothing is used.
    pub(super) fn new(segment: Arc<Segment>, id: SegmentId, header: &SegmentHeader) -> Self {
        let end = JournalEnd {
            position: 0,
            check: header.first_check(),
        };
        Self::resume(segment, id, UNIT, JournalTail::new(end, &[]))
    }

    /// A segment whose blocks end at `data_end`, and whose records so.
    pub(super) fn resume(segment: Arc<Segment>, id: SegmentId, data_end: u64, journal: JournalTail) -> Self {
        Self {
            segment,
            id,
            data_end,
            planned: journal.position(),
            journal,
            planned_spaces: HashSet::new(),
            spaces: HashSet::new(),
            batches: 0,
        }
    }

    /// Bytes of the largest block that an empty segment of `bytes` has room for.
    pub(super) fn largest_block(bytes: u64) -> u64 {
        // The journal has room for a space of some thousand shards, and a block of it.
        bytes.saturating_sub(UNIT + bytes / 16)
    }

    /// Where the next block goes.
    pub(super) fn data_end(&self) -> u64 {
        self.data_end
    }

    /// Whether blocks have places here.
    pub(super) fn has_blocks(&self) -> bool {
        self.data_end > UNIT
    }

    /// Whether so many bytes of data, and of records, have room.
    fn has_room(&self, data: u64, records: u64) -> bool {
        self.data_end + data + blocks_for(self.planned + records) * UNIT <= self.segment.bytes
    }

    /// Finds a place for a block, which is where the last one ended; None where there is no room.
    pub(super) fn place(&mut self, space: &SpaceInfo) -> Option<Room> {
        let shards = space.geometry.shards.len();
        let mut records = block_record_bytes(shards) + FIXED_RECORD_BYTES;
        if !self.planned_spaces.contains(&space.id.0) {
            records += space_record_bytes(shards);
        }
        if !self.has_room(space.padded_bytes, records) {
            return None;
        }
        self.planned_spaces.insert(space.id.0);
        let offset = self.data_end;
        self.data_end += space.padded_bytes;
        self.planned += records;
        Some(Room { offset, records })
    }

    /// Whether the record of `space`, if it has to be told, and of one more fact have room behind records of `before` bytes.
    pub(super) fn has_room_to_tell(&self, space: Option<&SpaceInfo>, before: u64) -> bool {
        let space = space.filter(|space| !self.planned_spaces.contains(&space.id.0));
        let space = space.map_or(0, |space| space_record_bytes(space.geometry.shards.len()));
        self.has_room(0, before + space + 2 * FIXED_RECORD_BYTES)
    }

    /// The record that has to stand before the first that names the space.
    pub(super) fn introduce(&mut self, space: &SpaceInfo) -> Option<Record> {
        self.planned_spaces.insert(space.id.0);
        self.spaces.insert(space.id.0).then(|| {
            Record::Space(SpaceRecord {
                number: space.id.0,
                key: space.key,
                geometry: space.geometry.clone(),
            })
        })
    }

    /// Adds records, for which `planned` bytes were planned: the bytes to write, and where.
    pub(super) fn append(&mut self, records: &[Record], planned: u64) -> (Vec<u8>, u64) {
        let before = self.journal.position();
        let written = self.journal.append(records, self.segment.bytes);
        self.planned = self.planned.saturating_sub(planned) + self.journal.position() - before;
        written
    }
}

/// What a block has in a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    /// Where its first page begins.
    pub(super) offset: u64,
    /// Bytes of journal that its records take at most.
    pub(super) records: u64,
}
