//! A block's place on a disk, kept from reuse.

use super::index::{Entry, Handle, SpaceInfo};
use super::path::SegmentPin;
use crate::pool::PagePtr;
use crate::sync::Arc;

/// Where a block is: its bytes stay there as long as this lives.
#[derive(Debug)]
pub struct Extent {
    pub(super) pin: SegmentPin,
    pub(super) handle: Handle,
    pub(super) entry: Entry,
    pub(super) space: Arc<SpaceInfo>,
}

impl Extent {
    /// Bytes of the block's pages, without what pads them.
    pub fn bytes(&self) -> u64 {
        self.space.bytes
    }

    /// Whether these pages are what a block of this space is read into.
    pub(super) fn fits(&self, pages: &[PagePtr]) -> bool {
        self.space.fits(pages)
    }
}
