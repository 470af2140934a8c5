//! The thread of a path that is online: it gives blocks their places, and their records once the disk has them.
//!
//! It never waits for one transfer while it could begin another: whatever ends tells the inbox.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use super::super::block::PathFiles;
use super::super::budget::Written;
use super::super::inbox::{Event, Removal, Reply};
use super::super::io::{Action, IoEngine, Op};
use super::Path;
use super::batch::{Batch, Block, Placed};
use super::commit::Journaling;
use super::keeping::Keeping;
use super::open_segment::Room;
use super::ring::Ring;
use super::share::Rivals;
use super::sync::Safety;
use super::wishes::Wishes;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;

/// Bytes of blocks that are at the disk at one time: some milliseconds of work for a fast disk.
const UNDER_WAY_BYTES: u64 = 32 << 20;
/// Smaller blocks go to the disk together, as far as they wait for it.
const BATCH_BYTES: u64 = 1 << 20;

/// How often it is looked whether the files still have their names.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// A path that is online.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) path: Arc<Path>,
    /// Told and not looked at yet.
    pub(super) events: VecDeque<Event>,
    pub(super) ring: Ring,
    /// In the order of their places.
    pub(super) batches: VecDeque<Batch>,
    pub(super) next_batch: u64,
    pub(super) under_way_bytes: u64,
    /// Of blocks that the disk has and that have no records, and since when there are such.
    pub(super) recordless_bytes: u64,
    pub(super) written_since: Option<Instant>,
    /// The block that waits for a segment.
    pub(super) held: Option<Block>,
    /// Blocks that were read to be kept.
    pub(super) kept: VecDeque<Block>,
    pub(super) keeping: Option<Keeping>,
    pub(super) journaling: Option<Journaling>,
    pub(super) removals: VecDeque<Removal>,
    pub(super) safety: Safety,
    /// Why no more segments can be made, though the capacity would allow them.
    pub(super) no_room: Option<String>,
    /// Whether the empty segment that there is was emptied for the next blocks.
    pub(super) is_recycling: bool,
    /// Whether the head is new, and there may be no segment after it.
    pub(super) is_last_head: bool,
    /// When it was last looked whether the files still have their names.
    looked: Instant,
    /// What was written to this path today.
    pub(super) written: Written,
    pub(super) wishes: Wishes,
}

/// Why a writer ended.
#[derive(Debug)]
pub(super) enum Ended {
    /// It was told to: what becomes of the files, and who waits for the end.
    Told(PathFiles, Reply, Box<Ring>),
    /// The path fails; what its journal has to be told once it is back.
    Failed(Error, VecDeque<Removal>, Written),
}

/// Whether a block has a place.
#[derive(Debug)]
enum Place {
    Here(Room),
    /// A segment has to be emptied first.
    NotYet,
    /// It is larger than the segments, which were made smaller since it was accepted.
    Nowhere,
}

pub(super) fn too_large() -> Error {
    let message = "a block is larger than the segments of the ssd path: give the path a larger capacity";
    Error::new(ErrorKind::Limit, message)
}

impl Writer {
    pub(super) fn new(path: Arc<Path>, ring: Ring, removals: VecDeque<Removal>, written: Written) -> Self {
        Self {
            path,
            events: VecDeque::new(),
            ring,
            batches: VecDeque::new(),
            next_batch: 0,
            under_way_bytes: 0,
            recordless_bytes: 0,
            written_since: None,
            held: None,
            kept: VecDeque::new(),
            keeping: None,
            journaling: None,
            removals,
            safety: Safety::default(),
            no_room: None,
            is_recycling: false,
            is_last_head: false,
            looked: Instant::now(),
            written,
            wishes: Wishes::default(),
        }
    }

    /// Writes until it is told to end, or the path fails.
    pub(super) fn run(mut self) -> Ended {
        loop {
            match self.step() {
                Err(error) => return self.fail(error),
                Ok(true) => {}
                Ok(false) => {
                    if let Some((files, reply)) = self.wishes.end.take() {
                        return Ended::Told(files, reply, Box::new(self.ring));
                    }
                }
            }
        }
    }

    /// Does what can be done now, and waits for more; false at the end.
    fn step(&mut self) -> Result<bool> {
        if !Arc::clone(&self.path.answers).work(|| self.work())? {
            return Ok(false);
        }
        let due = self.safety.due().into_iter().chain(self.records_due());
        let due = due.chain([self.looked + LOOK_INTERVAL]).min();
        self.events.extend(self.path.inbox.take(due));
        while let Some(event) = self.events.pop_front() {
            self.take(event)?;
        }
        Ok(true)
    }

    /// Does what can be done now; false when nothing is left before the end.
    fn work(&mut self) -> Result<bool> {
        if self.looked.elapsed() >= LOOK_INTERVAL {
            self.ring.directory.check()?;
            self.looked = Instant::now();
        }
        self.evict();
        self.ring.collect_drained(&mut self.safety)?;
        self.fit_capacity()?;
        self.fill()?;
        self.commit()?;
        self.begin_keeping();
        self.keep_used()?;
        self.ring.settle(&self.path);
        self.report();
        self.answer()?;
        self.sync_if_due();
        Ok(!self.is_finished())
    }

    fn take(&mut self, event: Event) -> Result<()> {
        match event {
            Event::DataWritten(number, result) => self.data_written(number, result),
            Event::JournalWritten(result) => self.journal_written(result),
            Event::Synced(result) => {
                self.safety.end();
                result.map_err(|error| self.write_error("make what was written safe", error))
            }
            Event::KeptRead(entry, kept, result) => {
                self.kept_read(&entry, kept, result);
                Ok(())
            }
            Event::Failed(reason) => Err(Error::new(ErrorKind::Io, reason)),
            Event::Removed(removal) => {
                self.removals.push_back(removal);
                Ok(())
            }
            Event::Flush(reply) => {
                self.want_flush(reply);
                Ok(())
            }
            Event::Resize(reply) => {
                self.path.answers.work(|| self.ring.look_for_room(0));
                self.wishes.resizes.push(reply);
                Ok(())
            }
            Event::Evict(bytes, reply) => {
                self.wishes.want_evicted(bytes, reply);
                Ok(())
            }
            Event::End(files, reply) => {
                self.wishes.end = Some((files, reply));
                Ok(())
            }
        }
    }

    pub(super) fn engine(&self) -> Arc<dyn IoEngine> {
        Arc::clone(&self.ring.directory.engine)
    }

    /// Gives blocks places and begins to write them, as many as the disk takes.
    fn fill(&mut self) -> Result<()> {
        let mut group: Vec<Placed> = Vec::new();
        let mut bytes = 0;
        let mut is_ready = false;
        while self.under_way_bytes + bytes < UNDER_WAY_BYTES {
            let Some(block) = self.next_block() else {
                is_ready = self.wishes.end.is_none();
                break;
            };
            let room = match self.place(&block, &mut group) {
                Ok(Place::Here(room)) => room,
                Ok(Place::Nowhere) => {
                    self.drop_kept(&block);
                    block.end(&self.path, Err(too_large()));
                    continue;
                }
                Ok(Place::NotYet) => {
                    self.put_back(block);
                    break;
                }
                Err(error) => {
                    self.put_back(block);
                    return Err(error);
                }
            };
            if group.is_empty() {
                bytes = 0;
            }
            bytes += block.space.padded_bytes;
            self.path.count_taken(block.space.padded_bytes);
            group.push(Placed { block, room });
            if bytes >= BATCH_BYTES {
                self.begin(std::mem::take(&mut group));
                bytes = 0;
            }
        }
        self.begin(group);
        self.path.tell_ready(is_ready);
        Ok(())
    }

    /// The next block to be written: those that are to be kept first, for their segment is wanted.
    fn next_block(&mut self) -> Option<Block> {
        if let Some(kept) = self.next_kept() {
            return Some(kept);
        }
        if let Some(held) = self.held.take() {
            return Some(held);
        }
        if self.wishes.end.is_some() {
            return None;
        }
        let (rivals, largest) = (Rivals::of(&self.path), self.path.largest_block());
        let is_meant = |bytes| bytes <= largest && !rivals.are_left(bytes);
        self.path.tier.queue.take(is_meant).map(Block::accepted)
    }

    fn put_back(&mut self, block: Block) {
        match block.origin() {
            Some(_) => self.kept.push_front(block),
            None => self.held = Some(block),
        }
    }

    /// A place for a block behind those of the group, which begins to be written when the block goes to another segment.
    fn place(&mut self, block: &Block, group: &mut Vec<Placed>) -> Result<Place> {
        if let Some(room) = self.ring.head().and_then(|head| head.place(&block.space)) {
            return Ok(Place::Here(room));
        }
        self.begin(std::mem::take(group));
        if !self.advance()? {
            return Ok(Place::NotYet);
        }
        let room = self.ring.head().and_then(|head| head.place(&block.space));
        Ok(room.map_or(Place::Nowhere, Place::Here))
    }

    /// Begins to write blocks that lie side by side.
    fn begin(&mut self, blocks: Vec<Placed>) {
        let (Some(first), Some(open)) = (blocks.first(), self.ring.open.back_mut()) else {
            return;
        };
        let offset = first.room.offset;
        let file = Arc::clone(&open.segment.file);
        open.batches += 1;
        let number = self.next_batch;
        self.next_batch += 1;
        let mut batch = Batch {
            number,
            generation: open.segment.generation(),
            blocks,
            is_written: false,
        };
        let (memory, bytes) = (batch.memory(), batch.bytes());
        self.batches.push_back(batch);
        self.under_way_bytes += bytes;
        self.path.counts.write_rate.begin();
        let (path, start) = (Arc::clone(&self.path), Instant::now());
        self.engine().submit(Op {
            action: Action::Write,
            file,
            offset,
            memory,
            done: Box::new(move |result| {
                let moved = if result.is_ok() { bytes } else { 0 };
                path.counts.write_rate.end(moved);
                path.counts.writes.add(start.elapsed());
                path.inbox.tell(Event::DataWritten(number, result));
            }),
        });
    }

    fn data_written(&mut self, number: u64, result: io::Result<()>) -> Result<()> {
        if let Some(batch) = self.batches.iter_mut().find(|batch| batch.number == number) {
            batch.written();
            let bytes = batch.bytes();
            self.under_way_bytes -= bytes;
            self.recordless_bytes += bytes;
            self.written_since.get_or_insert_with(Instant::now);
            self.count_written(bytes);
        }
        result.map_err(|error| self.write_error("write blocks", error))
    }

    /// Counts bytes that the disk got, whose blocks were taken from the budget before.
    fn count_written(&mut self, bytes: u64) {
        self.path.counts.written_bytes.add(bytes);
        self.written.add(super::super::budget::today(), bytes);
    }

    pub(super) fn write_error(&self, what: &str, error: io::Error) -> Error {
        self.path.counts.write_errors.add(1);
        Error::io(format_args!("{what} in {}", self.path.dir.display()), error)
    }

    fn sync_if_due(&mut self) {
        if self.safety.due().is_none_or(|due| due > Instant::now()) {
            return;
        }
        for file in self.safety.begin() {
            let path = Arc::clone(&self.path);
            let done = Box::new(move |result| path.inbox.tell(Event::Synced(result)));
            self.engine().submit(Op::sync(file, done));
        }
    }

    /// Whether it was told to end and everything it has accepted is safe.
    fn is_finished(&self) -> bool {
        self.wishes.end.is_some()
            && self.held.is_none()
            && self.batches.is_empty()
            && self.journaling.is_none()
            && self.removals.is_empty()
            && self.safety.is_safe(self.safety.mark())
            && self.is_idle()
    }

    /// Whether nothing of it is at the disk.
    pub(super) fn is_idle(&self) -> bool {
        let is_keeping = self.keeping.as_ref().is_some_and(|keeping| keeping.reads > 0);
        let is_writing = self.batches.iter().any(|batch| !batch.is_written);
        !is_keeping && !is_writing && self.journaling.is_none() && self.safety.under_way == 0
    }
}
