//! The segments of a path, in the order in which they were filled: the oldest is emptied for the next.

use std::collections::VecDeque;
use std::fs::File;
use std::time::{Duration, Instant};

use super::super::block::Evicted;
use super::super::format::SegmentHeader;
use super::super::index::SegmentId;
use super::super::io::{Action, Buffer, wait};
use super::directory::Directory;
use super::open_segment::OpenSegment;
use super::sync::Safety;
use super::{FILE_OVERHEAD, IDENTITY_BYTES, Path, Segment, segment_bytes};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;

/// How often it is tried to delete files when that is denied.
const DENIED_PAUSE: Duration = Duration::from_millis(500);

/// A segment file without blocks.
#[derive(Debug)]
pub(super) struct FreeSegment {
    pub(super) file: Arc<File>,
    pub(super) number: u32,
    pub(super) bytes: u64,
}

/// All segments of a path.
#[derive(Debug)]
pub(super) struct Ring {
    pub(super) directory: Directory,
    /// Those with blocks that no more will come to, the oldest first.
    pub(super) full: VecDeque<(SegmentId, Arc<Segment>)>,
    /// Full ones whose last blocks have no records yet, and behind them the one that is being filled.
    pub(super) open: VecDeque<OpenSegment>,
    /// Whether the last of `open` takes more blocks.
    pub(super) has_head: bool,
    /// Those that have left the index and may still be read, each with what the records are known by that have to be safe before
    /// its own are gone: those of blocks that were moved from there.
    pub(super) draining: VecDeque<(Arc<Segment>, u64)>,
    pub(super) free: Vec<FreeSegment>,
    /// Why files cannot be deleted, since it was tried last.
    denied: Option<(Instant, String)>,
    /// Number and bytes of the segments that could not be read or deleted, which are left alone.
    pub(super) lost: Vec<(u32, u64)>,
    /// Bytes that the file system can give the path, as far as that is known.
    given: u64,
    pub(super) next_number: u32,
    pub(super) next_generation: u64,
}

/// What came of the wish for an empty segment.
#[derive(Debug)]
pub(super) struct Next {
    /// It is the head now; one has to be emptied first otherwise.
    pub(super) is_open: bool,
    /// Why there is none of the size that the capacity asks for, though it would allow one: the file system is full.
    pub(super) full: Option<Error>,
}

impl Ring {
    /// A ring without segments.
    pub(super) fn new(directory: Directory) -> Self {
        Self {
            directory,
            full: VecDeque::new(),
            open: VecDeque::new(),
            has_head: false,
            draining: VecDeque::new(),
            free: Vec::new(),
            denied: None,
            lost: Vec::new(),
            given: u64::MAX,
            next_number: 0,
            next_generation: 1,
        }
    }

    /// The segment that takes blocks.
    pub(super) fn head(&mut self) -> Option<&mut OpenSegment> {
        self.open.back_mut().filter(|_| self.has_head)
    }

    /// The number and the bytes of each segment.
    fn files(&self) -> impl Iterator<Item = (u32, u64)> {
        let full = self.full.iter().map(|(_, segment)| segment);
        let open = self.open.iter().map(|open| &open.segment);
        let draining = self.draining.iter().map(|(segment, _)| segment);
        let segments = full.chain(open).chain(draining);
        let free = self.free.iter().map(|free| (free.number, free.bytes));
        segments
            .map(|segment| (segment.number, segment.bytes))
            .chain(free)
    }

    /// Bytes of each segment.
    pub(super) fn sizes(&self) -> impl Iterator<Item = u64> {
        self.files().map(|(_, bytes)| bytes)
    }

    /// The number of each segment.
    pub(super) fn numbers(&self) -> Vec<u32> {
        self.files().map(|(number, _)| number).collect()
    }

    /// Bytes that all files take.
    pub(super) fn used(&self) -> u64 {
        let lost = self.lost.iter().map(|(_, bytes)| *bytes);
        let files = self.sizes().chain(lost).map(|bytes| bytes + FILE_OVERHEAD);
        IDENTITY_BYTES + files.sum::<u64>()
    }

    /// Bytes of the segments that cannot take more blocks, and of the blocks in the others.
    pub(super) fn occupied(&self) -> u64 {
        let full = self.full.iter().map(|(_, segment)| segment.bytes);
        full.chain(self.open.iter().map(OpenSegment::data_end)).sum()
    }

    /// How many segments there are.
    pub(super) fn segments(&self) -> usize {
        self.full.len() + self.open.len() + self.draining.len() + self.free.len()
    }

    /// Looks what the file system can give the path beside `others`, which the path has too.
    pub(super) fn look_for_room(&mut self, others: u64) {
        let available = self.directory.engine.available(&self.directory.dir);
        self.given = available.map_or(u64::MAX, |bytes| bytes.saturating_add(self.used() + others));
    }

    /// What of a capacity the file system can give.
    pub(super) fn real_capacity(&self, capacity: u64) -> u64 {
        capacity.min(self.given)
    }

    /// Bytes of the segments that a path of this capacity makes.
    pub(super) fn segment_bytes(&self, capacity: u64) -> u64 {
        segment_bytes(self.real_capacity(capacity))
    }

    /// Makes one more free segment if `capacity` allows it; whether it does.
    ///
    /// # Errors
    /// `NoSpace` for a full file system.
    pub(super) fn grow(&mut self, capacity: u64) -> Result<bool> {
        let bytes = self.segment_bytes(capacity);
        if self.used() + bytes + FILE_OVERHEAD > capacity {
            return Ok(false);
        }
        let (number, file) = self.directory.create_segment(self.next_number, bytes)?;
        self.next_number = number.wrapping_add(1);
        self.free.push(FreeSegment { file, number, bytes });
        Ok(true)
    }

    /// Makes an empty segment the head.
    pub(super) fn advance(&mut self, path: &Arc<Path>) -> Result<Next> {
        self.has_head = false;
        let (free, full) = self.take_free(path.capacity())?;
        let Some(free) = free else {
            return Ok(Next { is_open: false, full });
        };
        let header = self
            .directory
            .header(free.number, free.bytes, self.next_generation);
        self.next_generation += 1;
        // Safe before anything else in the segment: records of before would name bytes that are others by then.
        self.write_header(&free.file, &header)?;
        self.sync(&free.file)?;
        let segment = Segment::new(
            Arc::clone(path),
            free.file,
            free.number,
            free.bytes,
            header.generation,
        );
        let id = path.tier.index.lock().segments.add(Arc::clone(&segment), 0);
        let id = id.ok_or_else(|| Error::new(ErrorKind::Limit, "the ssd tier has too many segments"))?;
        self.open.push_back(OpenSegment::new(segment, id, &header));
        self.has_head = true;
        Ok(Next { is_open: true, full })
    }

    /// A free segment of the size that `capacity` asks for, for which those of other sizes are deleted; one of those while they
    /// cannot be, or the file system has no room for it, and why it has none.
    fn take_free(&mut self, capacity: u64) -> Result<(Option<FreeSegment>, Option<Error>)> {
        let bytes = self.segment_bytes(capacity);
        loop {
            if let Some(at) = self.free.iter().position(|free| free.bytes == bytes) {
                return Ok((Some(self.free.swap_remove(at)), None));
            }
            match self.grow(capacity) {
                Ok(true) => {}
                Ok(false) => match self.free.pop() {
                    Some(other) if self.delete(other.number)? => {}
                    Some(other) => return Ok((Some(other), None)),
                    None => return Ok((None, None)),
                },
                Err(error) if error.kind() == ErrorKind::NoSpace && self.segments() > 0 => {
                    return Ok((self.free.pop(), Some(error)));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether blocks have places in segments that are being filled.
    pub(super) fn has_open_blocks(&self) -> bool {
        self.open.iter().any(OpenSegment::has_blocks)
    }

    /// Takes no more blocks into the head.
    pub(super) fn close_head(&mut self) {
        self.has_head = false;
    }

    /// Moves those to the full ones that all blocks of have their records.
    pub(super) fn settle(&mut self, path: &Path) {
        while let Some(open) = self.open.front() {
            let is_head = self.has_head && self.open.len() == 1;
            if is_head || open.batches > 0 {
                return;
            }
            let (id, segment) = (open.id, Arc::clone(&open.segment));
            path.tier.index.lock().segments.finish(id);
            self.full.push_back((id, segment));
            self.open.pop_front();
        }
    }

    /// Lets the blocks of a segment go once the records up to a mark are safe; how many they were.
    pub(super) fn retire(&mut self, path: &Path, id: SegmentId, segment: Arc<Segment>, mark: u64) -> Evicted {
        let evicted = path.tier.index.lock().empty_segment(id);
        path.counts.evicted_blocks.add(evicted.blocks);
        segment.drain();
        self.draining.push_back((segment, mark));
        evicted
    }

    /// Makes free those that nobody reads any more, in the order in which they were let go: what a journal says was removed is
    /// forgotten only after the record of it.
    pub(super) fn collect_drained(&mut self, safety: &mut Safety) -> Result<()> {
        while let Some((segment, mark)) = self.draining.front() {
            if !safety.is_safe(*mark) {
                safety.want();
                return Ok(());
            }
            if segment.is_pinned() {
                return Ok(());
            }
            // Its records name blocks that the tier has let go.
            let header = self.directory.header(segment.number, segment.bytes, 0);
            self.write_header(&segment.file, &header)?;
            self.sync(&segment.file)?;
            if let Some((segment, _)) = self.draining.pop_front() {
                self.free.push(FreeSegment {
                    file: Arc::clone(&segment.file),
                    number: segment.number,
                    bytes: segment.bytes,
                });
            }
        }
        Ok(())
    }

    /// Deletes free segments as long as the files take more than `capacity`.
    pub(super) fn shrink(&mut self, capacity: u64) -> Result<()> {
        while self.used() > capacity
            && let Some(free) = self.free.last()
            && self.delete(free.number)?
        {
            self.free.pop();
        }
        Ok(())
    }

    /// Deletes all files of the path, what names it last, so that what stays can still be told from other files.
    ///
    /// # Errors
    /// Which files stay, and why.
    pub(super) fn delete_all(&self) -> Result<()> {
        let failures: Vec<Error> = self
            .numbers()
            .into_iter()
            .filter_map(|number| self.directory.delete_segment(number).err())
            .collect();
        let lost = self.lost.first().map(|(number, _)| {
            let path = self.directory.segment_path(*number);
            Error::new(ErrorKind::Io, format!("{} cannot be read", path.display()))
        });
        let stay = failures.len() + self.lost.len();
        match failures.into_iter().next().or(lost) {
            None => self.directory.delete(),
            Some(error) => Err(Error::new(
                error.kind(),
                format!("{stay} of its segments stay ({error})"),
            )),
        }
    }

    /// Deletes a segment's file; false when that is denied, for which it is tried now and then.
    pub(super) fn delete(&mut self, number: u32) -> Result<bool> {
        let is_recent = |(tried, _): &(Instant, String)| tried.elapsed() < DENIED_PAUSE;
        if self.denied.as_ref().is_some_and(is_recent) {
            return Ok(false);
        }
        match self.directory.delete_segment(number) {
            Ok(()) => {
                self.denied = None;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::Permission => {
                self.denied = Some((Instant::now(), error.message().to_owned()));
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Why files cannot be deleted that the capacity has no place for; None as well when there are none.
    pub(super) fn denied(&mut self, capacity: u64) -> Option<&str> {
        let bytes = self.segment_bytes(capacity);
        if self.used() <= capacity && self.sizes().all(|size| size == bytes) {
            self.denied = None;
        }
        self.denied.as_ref().map(|(_, reason)| reason.as_str())
    }

    /// Whether the disk takes what it is given: writes a header as it is.
    pub(super) fn probe(&self) -> Result<()> {
        let newest = self.open.back().map(|open| &open.segment);
        let (file, header) = match (newest, self.free.first()) {
            (Some(newest), _) => (
                &newest.file,
                self.directory
                    .header(newest.number, newest.bytes, newest.generation()),
            ),
            (None, Some(free)) => (&free.file, self.directory.header(free.number, free.bytes, 0)),
            (None, None) => return Ok(()),
        };
        self.write_header(file, &header)?;
        self.sync(file)
    }

    fn write_header(&self, file: &Arc<File>, header: &SegmentHeader) -> Result<()> {
        let mut buffer = Buffer::of(&header.encode());
        let memory = vec![buffer.page()];
        wait(&*self.directory.engine, Action::Write, file, 0, memory)
            .map_err(|error| Error::io("write the header of a segment", error))
    }

    /// Makes safe what was written to a file.
    pub(super) fn sync(&self, file: &Arc<File>) -> Result<()> {
        wait(&*self.directory.engine, Action::Sync, file, 0, Vec::new())
            .map_err(|error| Error::io("make a segment safe", error))
    }
}
