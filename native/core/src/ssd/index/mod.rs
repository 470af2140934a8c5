//! Which blocks there are, and where: in memory, at most 64 bytes each.
//!
//! Entries lie in the lists of their segments, in the order of their places; a hash table has a handle of 40 bits for each.

mod entry;
mod segments;
mod spaces;

pub(super) use entry::{Entry, Handle, check_of};
pub(super) use segments::SegmentId;
pub(super) use spaces::SpaceInfo;

use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher};

use foldhash::quality::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table;

use super::block::{Evicted, SsdSpaceId};
use super::path::{Path, Segment};
use crate::sync::Arc;
use segments::Segments;
use spaces::Spaces;

/// All blocks of a tier. Its lock is held for memory accesses only, and no other lock is taken under it.
#[derive(Debug, Default)]
pub(super) struct Index {
    table: HashTable<Handle>,
    seed: RandomState,
    pub(super) segments: Segments,
    pub(super) spaces: Spaces,
}

/// A block that was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) handle: Handle,
    pub(super) entry: Entry,
    pub(super) segment: Arc<Segment>,
    pub(super) space: Arc<SpaceInfo>,
}

/// A block that was taken out, by what its path's journal names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) generation: u64,
    pub(super) offset: u32,
}

impl Index {
    /// The block of this key.
    pub(super) fn find(&self, space: SsdSpaceId, hash: &[u8; 32]) -> Option<Found> {
        let handle = self.handle(space, hash)?;
        self.found(handle)
    }

    /// What a handle stands for, as long as its block is there.
    pub(super) fn found(&self, handle: Handle) -> Option<Found> {
        let segment = self.segments.get(handle.segment())?;
        let entry = *segment.entries.get(handle.number())?;
        Some(Found {
            handle,
            entry,
            segment: Arc::clone(&segment.segment),
            space: self.spaces.get(entry.space)?,
        })
    }

    /// Where a key's block is.
    pub(super) fn handle(&self, space: SsdSpaceId, hash: &[u8; 32]) -> Option<Handle> {
        let wanted = self.hash(space, hash);
        self.table
            .find(wanted, |handle| self.segments.is(*handle, space, hash))
            .copied()
    }

    /// Adds the next block of a segment; one of the same key that is elsewhere is not found any more.
    pub(super) fn insert(&mut self, segment: SegmentId, entry: Entry) {
        let Some(handle) = self.segments.push(segment, entry) else {
            return;
        };
        let Self {
            table,
            seed,
            segments,
            spaces,
        } = self;
        let (space, hash) = (entry.space(), entry.hash);
        let found = table.entry(
            hash_of(seed, space, &hash),
            |other| segments.is(*other, space, &hash),
            |other| {
                segments
                    .key(*other)
                    .map_or(0, |(space, hash)| hash_of(seed, space, hash))
            },
        );
        let bytes = spaces.add(entry.space);
        segments.count(segment, bytes);
        match found {
            hash_table::Entry::Occupied(mut found) => {
                let before = std::mem::replace(found.get_mut(), handle);
                let bytes = spaces.subtract(entry.space);
                segments.bury(before, bytes);
            }
            hash_table::Entry::Vacant(place) => {
                place.insert(handle);
            }
        }
    }

    /// Adds the next block of a segment without making it one that is found.
    pub(super) fn insert_unfound(&mut self, segment: SegmentId, entry: Entry) {
        self.segments.push(segment, entry);
    }

    /// Takes a block out if the handle is still that of its key; where it was.
    pub(super) fn remove(&mut self, handle: Handle) -> Option<(Arc<Segment>, Place)> {
        let (space, hash) = self.segments.key(handle)?;
        let wanted = hash_of(&self.seed, space, hash);
        let found = self.table.find_entry(wanted, |other| *other == handle);
        let _ = found.ok()?.remove();
        let bytes = self.spaces.subtract(space.0);
        self.segments.bury(handle, bytes)
    }

    /// Takes all blocks of a segment out, and the segment.
    pub(super) fn empty_segment(&mut self, id: SegmentId) -> Evicted {
        let evicted = self.remove_where(&[id], |_| true);
        self.segments.retire(id);
        evicted
    }

    /// Takes the blocks of these segments out that `is_meant`.
    pub(super) fn remove_where(&mut self, ids: &[SegmentId], is_meant: impl Fn(&Entry) -> bool) -> Evicted {
        let mut evicted = Evicted::default();
        let handles: Vec<Handle> = ids.iter().flat_map(|id| self.segments.handles(*id)).collect();
        for handle in handles {
            let Some(found) = self.found(handle).filter(|found| is_meant(&found.entry)) else {
                continue;
            };
            if self.remove(handle).is_some() {
                evicted.blocks += 1;
                evicted.bytes += found.space.bytes;
            }
        }
        evicted
    }

    /// Whether the block is the one that is found by its key.
    pub(super) fn is_live(&self, handle: Handle) -> bool {
        self.segments
            .key(handle)
            .is_some_and(|(space, hash)| self.handle(space, hash) == Some(handle))
    }

    /// The blocks of a segment that were read since they were written there.
    pub(super) fn used_in(&self, id: SegmentId) -> VecDeque<Handle> {
        let is_used = |handle: &Handle| {
            let entry = self
                .segments
                .get(id)
                .and_then(|segment| segment.entries.get(handle.number()));
            entry.is_some_and(|entry| entry.is_used) && self.is_live(*handle)
        };
        self.segments.handles(id).filter(is_used).collect()
    }

    /// The place of the last block that a path has records of.
    pub(super) fn last_place(&self, path: &Arc<Path>) -> Option<Place> {
        let its = self
            .segments
            .iter()
            .filter(|segment| Arc::ptr_eq(&segment.segment.path, path));
        let last = its.filter_map(|segment| {
            let entry = segment.entries.last()?;
            Some((segment.segment.generation(), entry.offset))
        });
        let (generation, offset) = last.max()?;
        Some(Place { generation, offset })
    }

    /// The handles of all blocks that can be found.
    pub(super) fn handles(&self) -> impl Iterator<Item = Handle> {
        self.table.iter().copied()
    }

    /// Bytes allocated.
    pub(super) fn memory_bytes(&self) -> u64 {
        (self.table.allocation_size() + self.segments.memory_bytes() + self.spaces.memory_bytes()) as u64
    }

    fn hash(&self, space: SsdSpaceId, hash: &[u8; 32]) -> u64 {
        hash_of(&self.seed, space, hash)
    }
}

fn hash_of(seed: &RandomState, space: SsdSpaceId, hash: &[u8; 32]) -> u64 {
    let mut hasher = seed.build_hasher();
    hasher.write_u16(space.0);
    hasher.write(hash);
    hasher.finish()
}
