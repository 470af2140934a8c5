//! Records of blocks that the disk has, and what follows when it has those too.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::time::{Duration, Instant};

use super::super::budget::{Written, today};
use super::super::format::Record;
use super::super::inbox::{Event, Removal};
use super::super::index::{Place, SegmentId, SpaceInfo};
use super::super::io::{Action, Buffer, Op};
use super::batch::{Batch, Placed};
use super::open_segment::OpenSegment;
use super::writer::Writer;
use crate::error::Result;
use crate::sync::Arc;

/// How many bytes of blocks, and how long, wait for others to get their records with them: each write of records is one more at
/// a disk that is busy.
const MOST_BYTES: u64 = 8 << 20;
const MOST_TIME: Duration = Duration::from_millis(5);

/// Records under way to the disk.
#[derive(Debug)]
pub(super) struct Journaling {
    /// That of their segment, and what the segment is known by.
    generation: u64,
    id: SegmentId,
    file: Arc<File>,
    pub(super) batches: Vec<Batch>,
    pub(super) removals: Vec<Removal>,
    /// What the disk reads them from.
    buffer: Buffer,
}

impl Writer {
    /// When records are to be written next: those of many blocks at once while more blocks are at the disk, and at once otherwise.
    pub(super) fn records_due(&self) -> Option<Instant> {
        if self.journaling.is_some() {
            return None;
        }
        let front = self.batches.front().filter(|batch| batch.is_written);
        let (since, is_removal) = (self.written_since, !self.removals.is_empty());
        let is_due = is_removal || self.under_way_bytes == 0 || self.recordless_bytes >= MOST_BYTES;
        match (front, since) {
            (Some(_), Some(since)) => Some(if is_due { since } else { since + MOST_TIME }),
            _ => is_removal.then(Instant::now),
        }
    }

    /// Begins to write the records of all blocks that the disk has, and of what was removed: one write at a time.
    pub(super) fn commit(&mut self) -> Result<()> {
        if self.records_due().is_none_or(|due| due > Instant::now()) {
            return Ok(());
        }
        let first = self.batches.front().map(|batch| batch.generation);
        let last = self.ring.open.back().map(|open| open.segment.generation());
        let Some(generation) = first.or(last) else {
            return self.open_for_removals();
        };
        let mut batches = Vec::new();
        while let Some(batch) = self.batches.pop_front() {
            if !batch.is_written || batch.generation != generation {
                self.batches.push_front(batch);
                break;
            }
            self.recordless_bytes -= batch.bytes();
            batches.push(batch);
        }
        let is_left = self.batches.iter().any(|batch| batch.is_written);
        self.written_since = is_left.then(Instant::now);
        if let Err(error) = self.make_moved_safe(generation, &batches) {
            for batch in batches.into_iter().rev() {
                self.recordless_bytes += batch.bytes();
                self.batches.push_front(batch);
            }
            return Err(error);
        }
        let at = self
            .ring
            .open
            .iter()
            .position(|open| open.segment.generation() == generation);
        let Some(open) = at.and_then(|at| self.ring.open.get_mut(at)) else {
            return Ok(());
        };
        let tier = &self.path.tier;
        let mut records = Vec::new();
        let removals = removal_records(&mut self.removals, open, &mut records, |number| {
            tier.index.lock().spaces.get(number)
        });
        if batches.is_empty() && removals.is_empty() {
            return self.open_for_removals();
        }
        let mut planned = 0;
        for placed in batches.iter().flat_map(|batch| &batch.blocks) {
            planned += placed.room.records;
            records.extend(open.introduce(&placed.block.space));
            // A block that is not where it was any more was removed: it is not to come back.
            let is_meant = placed
                .block
                .origin()
                .is_none_or(|handle| tier.index.lock().is_live(handle));
            if is_meant {
                records.push(placed.record());
            }
        }
        self.written.add(today(), 0);
        records.push(Record::Written {
            day: self.written.day,
            bytes: self.written.bytes,
        });
        let (bytes, offset) = open.append(&records, planned);
        let (id, file) = (open.id, Arc::clone(&open.segment.file));
        let overhead = Written {
            day: self.written.day,
            bytes: bytes.len() as u64,
        };
        self.written.add(overhead.day, overhead.bytes);
        tier.budget.add(overhead);
        self.path.counts.written_bytes.add(overhead.bytes);
        let mut buffer = Buffer::of(&bytes);
        let memory = vec![buffer.page()];
        self.journaling = Some(Journaling {
            generation,
            id,
            file: Arc::clone(&file),
            batches,
            removals,
            buffer,
        });
        let path = Arc::clone(&self.path);
        self.engine().submit(Op {
            action: Action::Write,
            file,
            offset,
            memory,
            done: Box::new(move |result| path.inbox.tell(Event::JournalWritten(result))),
        });
        Ok(())
    }

    /// Has the disk keep the bytes of blocks that move before it may hear of their new places, which count from then on: where
    /// they were they may be safe.
    fn make_moved_safe(&self, generation: u64, batches: &[Batch]) -> Result<()> {
        let mut blocks = batches.iter().flat_map(|batch| &batch.blocks);
        if !blocks.any(|placed| placed.block.origin().is_some()) {
            return Ok(());
        }
        let mut open = self.ring.open.iter();
        match open.find(|open| open.segment.generation() == generation) {
            Some(open) => self.ring.sync(&open.segment.file),
            None => Ok(()),
        }
    }

    /// Makes room for what was removed when nothing else does.
    fn open_for_removals(&mut self) -> Result<()> {
        if self.removals.is_empty() || !self.batches.is_empty() {
            return Ok(());
        }
        if self.ring.full.is_empty() && self.ring.open.is_empty() && self.ring.draining.is_empty() {
            // The segments of what was removed are gone, and with them all that a journal could say.
            self.removals.clear();
            return Ok(());
        }
        if self.advance()? {
            self.path.inbox.wake();
        }
        Ok(())
    }

    /// The records are on the disk: their blocks can be found.
    pub(super) fn journal_written(&mut self, result: io::Result<()>) -> Result<()> {
        if let Err(error) = result {
            let error = self.write_error("write a journal", error);
            // Its blocks wait for the end with those that have no records.
            if let Some(journaling) = self.journaling.take() {
                self.removals.extend(&journaling.removals);
                for batch in journaling.batches.into_iter().rev() {
                    self.batches.push_front(batch);
                }
            }
            return Err(error);
        }
        let Some(journaling) = self.journaling.take() else {
            return Ok(());
        };
        drop(journaling.buffer);
        let of_segment = |open: &&mut OpenSegment| open.segment.generation() == journaling.generation;
        if let Some(open) = self.ring.open.iter_mut().find(of_segment) {
            open.batches -= journaling.batches.len();
        }
        let bytes = journaling.batches.iter().map(Batch::bytes).sum();
        self.safety.written(&journaling.file, bytes);
        let blocks: Vec<Placed> = journaling
            .batches
            .into_iter()
            .flat_map(|batch| batch.blocks)
            .collect();
        let mut index = self.path.tier.index.lock();
        for placed in &blocks {
            let origin = placed.block.origin();
            if origin.is_none_or(|handle| index.is_live(handle)) {
                index.insert(journaling.id, placed.entry());
            } else {
                // It was removed while its record was under way.
                self.removals.push_back(Removal::Block(Place {
                    generation: journaling.generation,
                    offset: placed.entry().offset,
                }));
            }
        }
        drop(index);
        self.path.counts.written_blocks.add(blocks.len() as u64);
        for placed in blocks {
            self.kept_written(&placed.block);
            placed.block.end(&self.path, Ok(()));
        }
        Ok(())
    }
}

/// Takes as many removals as the segment has room to tell, with their records.
fn removal_records(
    waiting: &mut VecDeque<Removal>,
    open: &mut OpenSegment,
    records: &mut Vec<Record>,
    space_of: impl Fn(u16) -> Option<Arc<SpaceInfo>>,
) -> Vec<Removal> {
    let mut taken = Vec::new();
    let mut bytes = 0;
    while let Some(removal) = waiting.front().copied() {
        let space = match removal {
            Removal::Block(_) => None,
            Removal::Space(number, _) => space_of(number),
        };
        if !open.has_room_to_tell(space.as_deref(), bytes) {
            break;
        }
        records.extend(space.as_deref().and_then(|space| open.introduce(space)));
        records.push(match removal {
            Removal::Block(place) => Record::Removed {
                generation: place.generation,
                offset: place.offset,
            },
            Removal::Space(space, place) => Record::SpaceRemoved {
                space,
                generation: place.generation,
                offset: place.offset,
            },
        });
        bytes = records.iter().map(Record::bytes).sum();
        waiting.pop_front();
        taken.push(removal);
    }
    taken
}
