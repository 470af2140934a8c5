//! Moving bytes between the memory of engines and pages.
//!
//! Every engine of this trait passes the one suite in `tests/conformance.rs`.

mod copying;
mod cuda;
mod host;
mod page;
mod threads;

use crate::error::{Error, ErrorKind, Result};
use crate::layout::BlockLayout;

pub use copying::{Copying, Pins};
pub use cuda::{CudaCopyEngine, CudaLayer, CudaMemory};
pub use host::HostCopyEngine;
pub use page::{LoadPage, SavePage};
pub use threads::{CopyThreads, Parts};

#[cfg(test)]
mod tests;

/// Bytes that a caller should give one call: few enough that a revoked grant is given back within milliseconds.
const BATCH_BYTES: u64 = 8 << 20;

/// A way to one engine's blocks.
///
/// Both calls return when every copy that they began has ended, also on an error: the pages and the blocks are then nobody's
/// but the caller's and the engine's.
pub trait CopyEngine: Send + Sync {
    /// Where the blocks are, and how many.
    fn layout(&self) -> &BlockLayout;

    /// The bytes of one block, and of its page.
    fn page_bytes(&self) -> u64 {
        self.layout().page_bytes()
    }

    /// Copies blocks of the engine into pages. After an error the pages hold nothing of value.
    fn read(&self, pages: &[SavePage<'_>]) -> Result<()>;

    /// Copies pages into blocks of the engine. After an error the blocks hold nothing of value.
    fn write(&self, pages: &[LoadPage<'_>]) -> Result<()>;

    /// Begins the same copies where that takes no time worth a thread, and they go on by themselves; None, with nothing begun, for
    /// those that should be [written](Self::write). `pins` keeps the pages in place, and is let go of after the copies' end.
    fn begin_write(&self, pages: &[LoadPage<'_>], pins: &Pins) -> Result<Option<Box<dyn Copying>>> {
        let _ = (pages, pins);
        Ok(None)
    }

    /// How many blocks to give one call, so that a grant is never taken for long; one block where it is larger.
    fn batch_blocks(&self) -> usize {
        usize::try_from(self.batch_bytes() / self.page_bytes().max(1))
            .unwrap_or(usize::MAX)
            .max(1)
    }

    /// Bytes that a caller should give one call.
    fn batch_bytes(&self) -> u64 {
        BATCH_BYTES
    }

    /// How many calls a caller should have under way at once: while one waits for its copies, the next one begins its own.
    fn lanes(&self) -> usize {
        1
    }

    /// The slots of a ring as blocks, where the engine collects its blocks in one and spreads them from there. Its pages are those
    /// of the blocks.
    fn ring(&self) -> Option<&dyn CopyEngine> {
        None
    }

    /// Points of its stream that the engine can name; none where its memory is complete whenever it asks.
    fn points(&self) -> u32 {
        0
    }

    /// Whether the engine's stream has come to a point that it named. Of an engine that ended it is an error, never an answer
    /// that does not come.
    fn has_passed(&self, point: u32) -> Result<bool> {
        Err(Error::new(
            ErrorKind::Invalid,
            format!("point {point} is of a stream, and host memory has none"),
        ))
    }
}
