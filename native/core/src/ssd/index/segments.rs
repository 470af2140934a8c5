//! The entries of each segment.

use super::Place;
use super::entry::{Entry, Handle, MOST};
use crate::arena::push_exact;
use crate::ssd::block::SsdSpaceId;
use crate::ssd::path::Segment;
use crate::sync::{Arc, Weak};

/// Names a segment in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::ssd) struct SegmentId(pub(super) u32);

/// A segment with its entries.
#[derive(Debug)]
pub(in crate::ssd) struct SegmentUse {
    pub(in crate::ssd) segment: Arc<Segment>,
    /// In the order of their places; also of blocks that are found elsewhere by now, or not at all.
    pub(in crate::ssd) entries: Vec<Entry>,
    /// Blocks that are found here.
    pub(in crate::ssd) blocks: u64,
    /// Bytes of their pages.
    pub(in crate::ssd) bytes: u64,
}

/// All segments that have blocks.
#[derive(Debug, Default)]
pub(in crate::ssd) struct Segments {
    list: Vec<Option<SegmentUse>>,
    /// Names of segments that are forgotten.
    retired: Vec<(u32, Weak<Segment>)>,
}

impl Segments {
    /// Begins the list of a segment; None when there are too many.
    pub(in crate::ssd) fn add(&mut self, segment: Arc<Segment>, room: usize) -> Option<SegmentId> {
        let segment = SegmentUse {
            segment,
            entries: Vec::with_capacity(room),
            blocks: 0,
            bytes: 0,
        };
        let unused = self
            .retired
            .iter()
            .position(|(_, segment)| segment.strong_count() == 0);
        if let Some(at) = unused {
            let (number, _) = self.retired.swap_remove(at);
            *self.list.get_mut(number as usize)? = Some(segment);
            return Some(SegmentId(number));
        }
        if self.list.len() == MOST {
            return None;
        }
        self.list.push(Some(segment));
        Some(SegmentId(self.list.len() as u32 - 1))
    }

    pub(in crate::ssd) fn get(&self, id: SegmentId) -> Option<&SegmentUse> {
        self.list.get(id.0 as usize)?.as_ref()
    }

    fn get_mut(&mut self, id: SegmentId) -> Option<&mut SegmentUse> {
        self.list.get_mut(id.0 as usize)?.as_mut()
    }

    /// Segments that have lists.
    pub(in crate::ssd) fn iter(&self) -> impl Iterator<Item = &SegmentUse> {
        self.list.iter().flatten()
    }

    /// The names of the segments that `is_meant`.
    pub(in crate::ssd) fn ids(&self, is_meant: impl Fn(&SegmentUse) -> bool) -> Vec<SegmentId> {
        let numbered = (0..).map(SegmentId).zip(&self.list);
        let meant = |(id, segment): (SegmentId, &Option<SegmentUse>)| {
            segment.as_ref().is_some_and(&is_meant).then_some(id)
        };
        numbered.filter_map(meant).collect()
    }

    /// Counts a read of a block.
    pub(in crate::ssd) fn mark_used(&mut self, handle: Handle) {
        if let Some(segment) = self.get_mut(handle.segment())
            && let Some(entry) = segment.entries.get_mut(handle.number())
        {
            entry.uses = entry.uses.saturating_add(1);
            entry.is_used = true;
        }
    }

    /// No more entries will come: room for them goes back.
    pub(in crate::ssd) fn finish(&mut self, id: SegmentId) {
        if let Some(segment) = self.get_mut(id) {
            segment.entries.shrink_to_fit();
        }
    }

    /// The handle of the entry that lies there.
    pub(in crate::ssd) fn at(&self, id: SegmentId, offset: u32) -> Option<Handle> {
        let entries = &self.get(id)?.entries;
        let number = entries.binary_search_by_key(&offset, |entry| entry.offset).ok()?;
        Some(Handle::new(id, number))
    }

    /// The key of an entry.
    pub(in crate::ssd) fn key(&self, handle: Handle) -> Option<(SsdSpaceId, &[u8; 32])> {
        let entry = self.get(handle.segment())?.entries.get(handle.number())?;
        Some((entry.space(), &entry.hash))
    }

    pub(super) fn is(&self, handle: Handle, space: SsdSpaceId, hash: &[u8; 32]) -> bool {
        self.key(handle) == Some((space, hash))
    }

    pub(super) fn handles(&self, id: SegmentId) -> impl Iterator<Item = Handle> + use<> {
        let count = self.get(id).map_or(0, |segment| segment.entries.len());
        (0..count).map(move |number| Handle::new(id, number))
    }

    pub(super) fn push(&mut self, id: SegmentId, entry: Entry) -> Option<Handle> {
        let entries = &mut self.get_mut(id)?.entries;
        push_exact(entries, entry);
        Some(Handle::new(id, entries.len() - 1))
    }

    pub(super) fn count(&mut self, id: SegmentId, bytes: u64) {
        if let Some(segment) = self.get_mut(id) {
            segment.blocks += 1;
            segment.bytes += bytes;
        }
    }

    /// Counts a block less; where it was.
    pub(super) fn bury(&mut self, handle: Handle, bytes: u64) -> Option<(Arc<Segment>, Place)> {
        let segment = self.get_mut(handle.segment())?;
        segment.blocks -= 1;
        segment.bytes -= bytes;
        let place = Place {
            generation: segment.segment.generation(),
            offset: segment.entries.get(handle.number())?.offset,
        };
        Some((Arc::clone(&segment.segment), place))
    }

    /// Forgets a segment. Its name is not used again as long as anybody may have handles of it.
    pub(super) fn retire(&mut self, id: SegmentId) {
        if let Some(place) = self.list.get_mut(id.0 as usize)
            && let Some(retired) = place.take()
        {
            self.retired.push((id.0, Arc::downgrade(&retired.segment)));
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let entries: usize = self.iter().map(|segment| segment.entries.capacity()).sum();
        let lists = self.list.capacity() * size_of::<Option<SegmentUse>>();
        entries * size_of::<Entry>() + lists
    }
}
