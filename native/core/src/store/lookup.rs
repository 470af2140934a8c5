//! The longest cached prefix of a list of hashes, pinned.

use crate::pool::PagePtr;

/// Cached blocks that stay where they are while this, or a clone of it, lives.
#[derive(Debug, Clone)]
pub struct Hits {}

impl Hits {
    /// Blocks from the first hash on.
    pub fn len(&self) -> usize {
        0
    }

    /// Whether the first hash was a miss.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all pages of these blocks.
    pub fn bytes(&self) -> u64 {
        0
    }

    /// The page of one shard of the block at `index`; None outside of the hits or shards.
    pub fn page(&self, index: usize, shard: u32) -> Option<PagePtr> {
        let _ = (index, shard);
        None
    }
}
