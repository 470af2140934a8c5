//! Another size for the memory tier, while it is in use.

use super::Store;
use super::evict::not_built;
use crate::error::Result;
use crate::progress::Progress;
use crate::sync::Arc;

/// What a resize did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resized {
    /// Bytes of the pool before.
    pub before_bytes: u64,
    /// Bytes of the pool now; a resize that was cancelled stops at what it has reached.
    pub bytes: u64,
    /// Blocks that moved to other places of the pool.
    pub moved_blocks: u64,
    /// Blocks that were evicted.
    pub evicted_blocks: u64,
}

impl Store {
    /// The most bytes that [`Store::resize_memory`] can give the pool: what the machine has.
    pub fn max_memory_bytes(&self) -> u64 {
        0
    }

    /// Makes the pool this large, rounded down to whole slabs. Returns when the memory is there, or given back.
    ///
    /// A smaller pool keeps its hottest blocks: they move out of the part that goes, and the coldest of all go for them.
    /// Blocks in use there are waited for. The size holds until the daemon's next start, which goes by `--pool-size`.
    /// `progress` counts bytes of memory that came or went.
    ///
    /// # Errors
    /// `Config` for a size that the pool cannot have, `NoSpace` when there is not so much memory, `Conflict` when blocks in the
    /// part that goes stay in use, or another resize is under way.
    pub fn resize_memory(self: &Arc<Self>, bytes: u64, progress: &Progress) -> Result<Resized> {
        let _ = (bytes, progress);
        Err(not_built())
    }
}
