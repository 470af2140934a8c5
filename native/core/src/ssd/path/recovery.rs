//! What a path's files say when it is opened: its blocks, in the order in which they were written.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::path::PathBuf;

use super::super::block::SsdSpaceId;
use super::super::budget::Written;
use super::super::format::{JournalTail, Record, SegmentHeader, SpaceRecord, UNIT};
use super::super::inbox::Removal;
use super::super::index::{Entry, Index, Place, SegmentId, SpaceInfo, check_of};
use super::super::io::{IoEngine, Watched};
use super::super::snapshot::Recovery;
use super::directory::{Directory, make, refuse_gone};
use super::journal::Journal;
use super::open_segment::OpenSegment;
use super::ring::{FreeSegment, Ring};
use super::segment_files::SegmentFile;
use super::{FILE_OVERHEAD, Path, Segment};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;

/// A path has room to write to at all times: one segment is filled while another is emptied.
const LEAST_SEGMENTS: usize = 2;

/// A path that can be written to.
#[derive(Debug)]
pub(super) struct Recovered {
    pub(super) ring: Ring,
    pub(super) written: Written,
    /// Without the time that it took.
    pub(super) found: Recovery,
}

/// Opens a path, and has the index know its blocks, without those that `removals` are about.
pub(super) fn recover(path: &Arc<Path>, is_first: bool, removals: &VecDeque<Removal>) -> Result<Recovered> {
    path.forget_segments();
    if is_first {
        make(&path.dir)?;
    } else {
        refuse_gone(&path.dir)?;
    }
    path.claim_place()?;
    let engine = Watched::new(path.tier.engines.start(&path.dir)?, &path.answers);
    let directory = Directory::open(&path.dir, is_first, engine)?;
    let mut found = Recovery::default();
    let mut ring = Ring::new(directory);
    let mut used = find_segments(path, &mut ring, &mut found)?;
    used.sort_by_key(|(header, _)| header.generation);
    fit_capacity(&mut ring, &mut used, path.capacity())?;
    let mut journals = Journals::new(path);
    let last = used.len().checked_sub(1);
    for (at, (header, file)) in used.into_iter().enumerate() {
        ring.next_generation = ring.next_generation.max(header.generation + 1);
        let is_unsafe = last.is_some_and(|last| at + 1 >= last);
        if is_unsafe {
            // A daemon that was killed may have left what was not safe yet.
            ring.sync(&file)?;
        }
        let (number, bytes) = (header.number, header.bytes);
        match journals.read(&*ring.directory.engine, header, file)? {
            Some(open) if Some(at) == last => {
                ring.open.push_back(open);
                ring.has_head = true;
            }
            Some(open) => {
                path.tier.index.lock().segments.finish(open.id);
                ring.full.push_back((open.id, open.segment));
            }
            None => {
                ring.lost.push((number, bytes));
                found.bad_segments += 1;
            }
        }
    }
    journals.apply_removals(removals);
    while ring.segments() < LEAST_SEGMENTS {
        if !ring.grow(path.capacity())? {
            return Err(Error::new(
                ErrorKind::NoSpace,
                format!(
                    "{} has no room for segments in its capacity of {} bytes: delete its files, or give it more",
                    path.dir.display(),
                    path.capacity()
                ),
            ));
        }
    }
    ring.probe()?;
    found.blocks = journals.blocks();
    Ok(Recovered {
        ring,
        written: journals.written,
        found,
    })
}

/// The segments that have been filled, with their headers; the others are free.
fn find_segments(
    path: &Path,
    ring: &mut Ring,
    found: &mut Recovery,
) -> Result<Vec<(SegmentHeader, Arc<File>)>> {
    let mut used = Vec::new();
    let mut others = Vec::new();
    for number in ring.directory.segment_numbers()? {
        let file = ring.directory.open_segment(number)?;
        if matches!(file, SegmentFile::Other) {
            others.push(ring.directory.segment_path(number));
            found.bad_segments += 1;
            continue;
        }
        ring.next_number = number.wrapping_add(1);
        match file {
            SegmentFile::Own(file, _, Some(header)) if header.generation > 0 => used.push((header, file)),
            SegmentFile::Own(file, bytes, header) => {
                found.bad_segments += u64::from(header.is_none());
                ring.free.push(FreeSegment { file, number, bytes });
            }
            SegmentFile::Cut(bytes) => {
                if !ring.delete(number)? {
                    ring.lost.push((number, bytes));
                }
            }
            SegmentFile::Unreadable(bytes) => {
                ring.lost.push((number, bytes));
                others.push(ring.directory.segment_path(number));
                found.bad_segments += 1;
            }
            SegmentFile::Other => {}
        }
    }
    path.tell_others(others);
    Ok(used)
}

impl Path {
    /// Says which files are left alone, unless that was said before.
    fn tell_others(&self, others: Vec<PathBuf>) {
        let mut status = self.status.lock();
        if !others.is_empty() && status.others != others {
            tracing::warn!(
                dir = %self.dir.display(),
                files = ?others,
                "files that are named like segments cannot be read or are none of this ssd path, so they are left alone: move them away"
            );
        }
        status.others = others;
    }
}

/// Lets go of the oldest segments of a path that was made smaller.
fn fit_capacity(ring: &mut Ring, used: &mut Vec<(SegmentHeader, Arc<File>)>, capacity: u64) -> Result<()> {
    let bytes = |used: &[(SegmentHeader, Arc<File>)]| {
        let sizes = used.iter().map(|(header, _)| header.bytes + FILE_OVERHEAD);
        sizes.sum::<u64>()
    };
    ring.look_for_room(bytes(used));
    ring.shrink(capacity.saturating_sub(bytes(used)))?;
    let new_bytes = ring.segment_bytes(capacity) + FILE_OVERHEAD;
    let missing = |segments: usize| LEAST_SEGMENTS.saturating_sub(segments) as u64 * new_bytes;
    while ring.used() + bytes(used) + missing(ring.segments() + used.len()) > capacity {
        let is_deleted = match used.first() {
            Some((header, _)) => ring.delete(header.number)?,
            None => false,
        };
        if !is_deleted {
            break;
        }
        used.remove(0);
    }
    Ok(())
}

/// What the journals of a path's segments say, one after another.
struct Journals<'a> {
    path: &'a Arc<Path>,
    written: Written,
    ids: HashMap<u64, SegmentId>,
    removals: Vec<Removal>,
}

impl<'a> Journals<'a> {
    fn new(path: &'a Arc<Path>) -> Self {
        Self {
            path,
            written: Written::default(),
            ids: HashMap::new(),
            removals: Vec::new(),
        }
    }

    /// Reads the journal of one segment; where the segment goes on. None when it cannot be read.
    fn read(
        &mut self,
        engine: &dyn IoEngine,
        header: SegmentHeader,
        file: Arc<File>,
    ) -> Result<Option<OpenSegment>> {
        let Ok(journal) = Journal::read(engine, &header, &file) else {
            return Ok(None);
        };
        let segment = Segment::new(
            Arc::clone(self.path),
            file,
            header.number,
            header.bytes,
            header.generation,
        );
        let mut index = self.path.tier.index.lock();
        let id = index.segments.add(Arc::clone(&segment), journal.blocks());
        let id = id.ok_or_else(|| Error::new(ErrorKind::Limit, "the ssd tier has too many segments"))?;
        self.ids.insert(header.generation, id);
        let mut spaces = HashMap::new();
        let mut data_end = UNIT;
        for record in &journal.records {
            match record {
                Record::Space(space) => {
                    spaces.insert(space.number, known(&mut index, space)?);
                }
                Record::Block {
                    space,
                    uses,
                    offset,
                    hash,
                    checksums,
                } => {
                    let Some(space) = spaces.get(space) else { continue };
                    let entry = Entry {
                        hash: *hash,
                        check: check_of(checksums),
                        offset: *offset,
                        space: space.id.0,
                        uses: *uses,
                        // What was read since it was written is not known; one that earned its place before keeps it once more.
                        is_used: *uses > 0,
                    };
                    insert(&mut index, self.path, id, entry);
                    data_end = data_end.max(u64::from(*offset) * UNIT + space.padded_bytes);
                }
                Record::Removed { generation, offset } => {
                    self.removals.push(Removal::Block(Place {
                        generation: *generation,
                        offset: *offset,
                    }));
                }
                Record::SpaceRemoved {
                    space,
                    generation,
                    offset,
                } => {
                    let place = Place {
                        generation: *generation,
                        offset: *offset,
                    };
                    let removal = |space: &Arc<SpaceInfo>| Removal::Space(space.id.0, place);
                    self.removals.extend(spaces.get(space).map(removal));
                }
                Record::Written { day, bytes } if *day >= self.written.day => {
                    self.written = Written {
                        day: *day,
                        bytes: *bytes,
                    };
                }
                Record::Written { .. } => {}
            }
        }
        drop(index);
        let tail = JournalTail::new(journal.end, &journal.partial);
        Ok(Some(OpenSegment::resume(segment, id, data_end, tail)))
    }

    /// Takes out what was removed, by the journals and while the path was offline.
    fn apply_removals(&self, offline: &VecDeque<Removal>) {
        let mut index = self.path.tier.index.lock();
        for removal in self.removals.iter().chain(offline) {
            match *removal {
                Removal::Block(place) => {
                    let id = self.ids.get(&place.generation);
                    let handle = id.and_then(|id| index.segments.at(*id, place.offset));
                    handle.and_then(|handle| index.remove(handle));
                }
                Removal::Space(space, place) => {
                    for (generation, id) in &self.ids {
                        index.remove_where(&[*id], |entry| {
                            entry.space == space
                                && (*generation, entry.offset) <= (place.generation, place.offset)
                        });
                    }
                }
            }
        }
    }

    /// Blocks that can be found.
    fn blocks(&self) -> u64 {
        let index = self.path.tier.index.lock();
        let segments = self.ids.values().filter_map(|id| index.segments.get(*id));
        segments.map(|segment| segment.blocks).sum()
    }
}

fn known(index: &mut Index, space: &SpaceRecord) -> Result<Arc<SpaceInfo>> {
    let SsdSpaceId(number) = index.spaces.recover(space.key, &space.geometry)?;
    let known = index.spaces.get(number);
    known.ok_or_else(|| Error::new(ErrorKind::Invalid, "a space of the ssd tier is not there"))
}

/// Adds a block, unless another path has one of the same key, which was saved while this one was offline.
fn insert(index: &mut Index, path: &Arc<Path>, id: SegmentId, entry: Entry) {
    let other = index.find(entry.space(), &entry.hash);
    if other.is_some_and(|found| !Arc::ptr_eq(&found.segment.path, path)) {
        index.insert_unfound(id, entry);
    } else {
        index.insert(id, entry);
    }
}
