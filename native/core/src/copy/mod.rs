//! Moving bytes between the memory of engines and pages.
//!
//! Every engine of this trait passes the one suite in `tests/conformance.rs`.

mod host;
mod page;
mod threads;

use crate::error::Result;

pub use host::HostCopyEngine;
pub use page::{LoadPage, SavePage};
pub use threads::CopyThreads;

#[cfg(test)]
mod tests;

/// Bytes that a caller should give one call: few enough that a grant is given back within milliseconds.
const BATCH_BYTES: u64 = 8 << 20;

/// A way to one engine's blocks.
///
/// Both calls return when every copy that they began has ended, also on an error: the pages and the blocks are then nobody's
/// but the caller's and the engine's.
pub trait CopyEngine: Send + Sync {
    /// The bytes of one block, and of its page.
    fn page_bytes(&self) -> u64;

    /// Copies blocks of the engine into pages. After an error the pages hold nothing of value.
    fn read(&self, pages: &[SavePage<'_>]) -> Result<()>;

    /// Copies pages into blocks of the engine. After an error the blocks hold nothing of value.
    fn write(&self, pages: &[LoadPage<'_>]) -> Result<()>;

    /// How many blocks to give one call, so that a grant is never taken for long: 8 MiB, or one block where it is larger.
    fn batch_blocks(&self) -> usize {
        usize::try_from(BATCH_BYTES / self.page_bytes().max(1))
            .unwrap_or(usize::MAX)
            .max(1)
    }
}
