//! Saving: one page of one shard of a block.

use crate::pool::PagePtr;

/// The answer to a reservation.
#[derive(Debug)]
pub enum Reserved {
    /// Fill this page, then seal it.
    Page(PageWriter),
    /// The page is cached already.
    Present,
    /// Another writer has this page.
    InFlight,
    /// No room could be made.
    NoSpace,
}

/// A page to fill; dropped unsealed, it is free again.
#[derive(Debug)]
pub struct PageWriter {
    page: PagePtr,
}

impl PageWriter {
    /// Where the bytes go.
    pub fn page(&self) -> PagePtr {
        self.page
    }

    /// All bytes are in place: the block is visible once all its shards are.
    pub fn seal(self) {}
}
