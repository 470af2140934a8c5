//! Reading the journal of a segment.

use std::fs::File;

use super::super::format::{JournalEnd, Record, SegmentHeader, UNIT, block_at, decode};
use super::super::io::{Action, Buffer, IoEngine, wait};
use crate::sync::Arc;

/// Bytes of journal that are read first, and the factor by which more are.
const FIRST_READ: u64 = 128 << 10;
const MORE: u64 = 8;
/// No record is longer.
const LONGEST_RECORD: u64 = 4 << 20;

/// The records of one segment.
pub(super) struct Journal {
    pub(super) records: Vec<Record>,
    pub(super) end: JournalEnd,
    /// The bytes of the last unit that has records.
    pub(super) partial: Vec<u8>,
}

impl Journal {
    /// Reads as much as is one unbroken chain.
    pub(super) fn read(
        engine: &dyn IoEngine,
        header: &SegmentHeader,
        file: &Arc<File>,
    ) -> std::io::Result<Self> {
        let longest = header.bytes - UNIT;
        let mut journal = Self {
            records: Vec::new(),
            end: JournalEnd {
                position: 0,
                check: header.first_check(),
            },
            partial: Vec::new(),
        };
        let mut bytes = Vec::new();
        let mut wanted = FIRST_READ.min(longest);
        loop {
            read_more(engine, header.bytes, file, &mut bytes, wanted)?;
            while let Some((record, check, len)) = journal.next(&bytes) {
                journal.end.check = check;
                journal.end.position += len as u64;
                journal.records.push(record);
            }
            let rest = bytes.len() as u64 - journal.end.position;
            if rest > LONGEST_RECORD || bytes.len() as u64 == longest || !journal.may_go_on(&bytes) {
                break;
            }
            wanted = (wanted * MORE).min(longest);
        }
        let unit = journal.end.position / UNIT * UNIT;
        journal.partial = bytes.get(unit as usize..).unwrap_or_default().to_vec();
        Ok(journal)
    }

    fn next(&self, bytes: &[u8]) -> Option<(Record, u64, usize)> {
        decode(bytes.get(self.end.position as usize..)?, self.end.check)
    }

    /// Whether the next record is longer than what was read.
    fn may_go_on(&self, bytes: &[u8]) -> bool {
        let rest = bytes.get(self.end.position as usize..).unwrap_or_default();
        match rest.first_chunk() {
            Some(len) => u32::from_le_bytes(*len) as usize > rest.len(),
            None => true,
        }
    }

    /// How many of its records are of blocks.
    pub(super) fn blocks(&self) -> usize {
        let is_block = |record: &&Record| matches!(record, Record::Block { .. });
        self.records.iter().filter(is_block).count()
    }
}

/// Reads a journal on until `wanted` bytes of it are there, in their order.
fn read_more(
    engine: &dyn IoEngine,
    segment_bytes: u64,
    file: &Arc<File>,
    bytes: &mut Vec<u8>,
    wanted: u64,
) -> std::io::Result<()> {
    let have = bytes.len() as u64;
    if wanted <= have {
        return Ok(());
    }
    let mut buffer = Buffer::new((wanted - have) as usize);
    let offset = block_at(segment_bytes, wanted / UNIT - 1);
    let memory = vec![buffer.page()];
    wait(engine, Action::Read, file, offset, memory)?;
    for unit in buffer.bytes().rchunks(UNIT as usize) {
        bytes.extend(unit);
    }
    Ok(())
}
