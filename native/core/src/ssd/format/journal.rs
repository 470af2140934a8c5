//! Where the bytes of a journal lie: in units that begin at the end of the segment and go towards its begin.
//!
//! Data grows from the begin of a segment and its journal from the end, so neither has to be given room in advance.

use super::{Record, UNIT};

/// Where a unit of the journal begins in a segment of `bytes`.
pub(in crate::ssd) fn block_at(bytes: u64, unit: u64) -> u64 {
    bytes - (unit + 1) * UNIT
}

/// How many units `position` bytes of journal take.
pub(in crate::ssd) fn blocks_for(position: u64) -> u64 {
    position.div_ceil(UNIT)
}

/// Where a journal ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::ssd) struct JournalEnd {
    /// Bytes of all records.
    pub(in crate::ssd) position: u64,
    /// The check of the last record.
    pub(in crate::ssd) check: u64,
}

/// The end of a journal, to which records are added.
#[derive(Debug)]
pub(in crate::ssd) struct JournalTail {
    end: JournalEnd,
    /// The bytes of the unit that is not full.
    partial: Vec<u8>,
}

impl JournalTail {
    /// A journal that ends there, in a unit that begins with `partial`.
    pub(in crate::ssd) fn new(end: JournalEnd, partial: &[u8]) -> Self {
        let partial = partial
            .get(..(end.position % UNIT) as usize)
            .unwrap_or_default()
            .to_vec();
        Self { end, partial }
    }

    /// Bytes of all records.
    pub(in crate::ssd) fn position(&self) -> u64 {
        self.end.position
    }

    /// Adds records: the bytes to write, in the order of the file, and where in a segment of `bytes`.
    pub(in crate::ssd) fn append(&mut self, records: &[Record], bytes: u64) -> (Vec<u8>, u64) {
        let first = self.end.position / UNIT;
        let mut journal = std::mem::take(&mut self.partial);
        for record in records {
            self.end.check = record.append(&mut journal, self.end.check);
        }
        self.end.position = first * UNIT + journal.len() as u64;
        let rest = (self.end.position % UNIT) as usize;
        self.partial = journal.get(journal.len() - rest..).unwrap_or_default().to_vec();
        journal.resize(journal.len().next_multiple_of(UNIT as usize), 0);
        let units = journal.len() as u64 / UNIT;
        let reversed = journal.rchunks(UNIT as usize).flatten().copied().collect();
        (reversed, block_at(bytes, first + units.max(1) - 1))
    }
}
