//! One rank's load of a lease.

use crate::pool::PagePtr;
use crate::store::Hits;

/// A load under way: pins its blocks by itself, and ends the rank's part of the lease when dropped.
#[derive(Debug)]
pub struct LoadPass {
    hits: Hits,
    first: usize,
    count: usize,
}

impl LoadPass {
    /// Blocks to load.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there is nothing to load.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The page of one shard of the block at `index` of this load's run; None outside of it.
    pub fn page(&self, index: usize, shard: u32) -> Option<PagePtr> {
        if index < self.count {
            self.hits.page(self.first + index, shard)
        } else {
            None
        }
    }
}
