//! One rank's load of a lease.

use super::{LeaseId, LeaseTable};
use crate::error::{Error, ErrorKind, Result};
use crate::pool::PagePtr;
use crate::store::Hits;
use crate::sync::Arc;

/// A load under way.
///
/// Pins its blocks by itself, so that the end of the lease never frees a page under a copy; when the last part of a
/// rank's load is dropped the rank has had it, and the lease ends with the last rank.
#[derive(Debug)]
pub struct LoadPass {
    pub(super) table: Arc<LeaseTable>,
    pub(super) lease: LeaseId,
    pub(super) hits: Hits,
    pub(super) first: usize,
    pub(super) count: usize,
    pub(super) is_last: bool,
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

    /// Whether [`verify`](Self::verify) has nothing to read of this page.
    pub fn is_verified(&self, index: usize, shard: u32) -> bool {
        index < self.count && self.hits.is_verified(self.first + index, shard)
    }

    /// Compares a page with its checksum before it is copied, as [`Hits::verify`] does.
    ///
    /// # Errors
    /// `Corrupt` for a page that is not what was saved, `Invalid` for one outside of this load's run.
    pub fn verify(&self, index: usize, shard: u32) -> Result<()> {
        if index < self.count {
            return self.hits.verify(self.first + index, shard);
        }
        let message = format!("block {index} is not among the {} of this load", self.count);
        Err(Error::new(ErrorKind::Invalid, message))
    }
}

impl Drop for LoadPass {
    fn drop(&mut self) {
        if self.is_last {
            self.table.end_load(self.lease);
        }
    }
}
