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
/// As in the daemon, each block is written to the ssd tier when it is saved, what was written first goes first, and what was
/// read since it was written gets a second chance.
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

/// Where a block is on the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Absent,
    Written,
    Read,
}

/// Blocks in the order in which they were written.
#[derive(Debug)]
struct Disk {
    capacity: usize,
    /// By block.
    places: Vec<Place>,
    written: VecDeque<u32>,
}

impl Disk {
    fn new(capacity: usize, distinct_blocks: usize) -> Self {
        Self {
            capacity,
            places: vec![Place::Absent; distinct_blocks],
            written: VecDeque::new(),
        }
    }

    fn place(&mut self, block: u32) -> Option<&mut Place> {
        self.places.get_mut(block as usize)
    }

    fn has(&self, block: u32) -> bool {
        self.places
            .get(block as usize)
            .is_some_and(|place| *place != Place::Absent)
    }

    fn read(&mut self, block: u32) {
        if let Some(place) = self.place(block) {
            *place = Place::Read;
        }
    }

    fn write(&mut self, block: u32) {
        if self.capacity == 0 || self.has(block) {
            return;
        }
        while self.written.len() >= self.capacity {
            let Some(oldest) = self.written.pop_front() else {
                return;
            };
            match self.place(oldest) {
                Some(place) if *place == Place::Read => {
                    *place = Place::Written;
                    self.written.push_back(oldest);
                }
                Some(place) => *place = Place::Absent,
                None => {}
            }
        }
        if let Some(place) = self.place(block) {
            *place = Place::Written;
            self.written.push_back(block);
        }
    }
}
