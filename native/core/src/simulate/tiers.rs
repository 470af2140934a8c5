//! A memory cache in front of an ssd one.

use std::collections::VecDeque;

use super::cache::SimulatedCache;
use super::requests::Requests;
use crate::eviction::PolicyKind;

/// Blocks hit in each tier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TierHits {
    /// Blocks of cached prefixes that memory had.
    pub memory: u64,
    /// Blocks of cached prefixes that only the ssd tier had.
    pub ssd: u64,
}

/// Hits of a memory tier of so many blocks under this policy, with an ssd tier of so many behind it.
///
/// As in the daemon, each block is written to the ssd tier when it is saved. The disk is emptied segment by segment, the one that
/// was written first goes first, and of its blocks a part of those that were read since they were written are written again.
pub fn tiers(requests: &Requests, kind: PolicyKind, memory: usize, ssd: usize) -> TierHits {
    let distinct = requests.distinct_blocks();
    let mut cache = SimulatedCache::new(kind, memory, distinct);
    let mut disk = Disk::new(ssd, distinct);
    let mut hits = TierHits::default();
    for request in requests.iter() {
        let found = |block: &&u32| cache.has(**block) || disk.has(**block);
        let found = request.blocks.iter().take_while(found).count();
        for (depth, block) in request.blocks.iter().enumerate() {
            let in_memory = cache.has(*block);
            if depth < found {
                hits.memory += u64::from(in_memory);
                hits.ssd += u64::from(!in_memory);
            }
            if !in_memory && depth < found {
                disk.read(*block);
            }
        }
        cache.serve(request);
        for block in request.blocks {
            disk.write(*block);
        }
    }
    hits
}

/// A disk has at least so many segments,
const SEGMENTS: usize = 64;
/// of which this part is written again at most when they are emptied.
const KEPT_DIVISOR: usize = 4;

/// Where a block is on the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Absent,
    Written,
    Read,
}

/// Blocks by segment, in the order in which they were written.
#[derive(Debug)]
struct Disk {
    segment_blocks: usize,
    most_segments: usize,
    /// By block.
    places: Vec<Place>,
    segments: VecDeque<Vec<u32>>,
}

impl Disk {
    fn new(capacity: usize, distinct_blocks: usize) -> Self {
        // The power of two at or below a 64th of the capacity, as bytes of segments are.
        let segment_blocks = 1 << (capacity / SEGMENTS).max(1).ilog2();
        Self {
            segment_blocks,
            most_segments: capacity.div_ceil(segment_blocks),
            places: vec![Place::Absent; distinct_blocks],
            segments: VecDeque::new(),
        }
    }

    fn set(&mut self, block: u32, to: Place) {
        if let Some(place) = self.places.get_mut(block as usize) {
            *place = to;
        }
    }

    fn place(&self, block: u32) -> Place {
        self.places.get(block as usize).copied().unwrap_or_default()
    }

    fn has(&self, block: u32) -> bool {
        self.place(block) != Place::Absent
    }

    fn read(&mut self, block: u32) {
        self.set(block, Place::Read);
    }

    fn write(&mut self, block: u32) {
        if self.most_segments == 0 || self.has(block) {
            return;
        }
        let full = self.segment_blocks;
        if self.segments.back().is_none_or(|segment| segment.len() >= full) {
            self.begin_segment();
        }
        if let Some(segment) = self.segments.back_mut() {
            segment.push(block);
            self.set(block, Place::Written);
        }
    }

    /// The oldest segment is emptied when there is none to spare.
    fn begin_segment(&mut self) {
        let mut kept = Vec::new();
        if self.segments.len() >= self.most_segments {
            for block in self.segments.pop_front().unwrap_or_default() {
                let is_kept =
                    self.place(block) == Place::Read && kept.len() < self.segment_blocks / KEPT_DIVISOR;
                if is_kept {
                    kept.push(block);
                }
                self.set(block, if is_kept { Place::Written } else { Place::Absent });
            }
        }
        self.segments.push_back(kept);
    }
}
