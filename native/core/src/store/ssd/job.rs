//! One block on its way from a disk into the pool.

use super::arrivals::Failure;
use crate::error::{ErrorKind, Result};
use crate::index::BlockKey;
use crate::pool::PagePtr;
use crate::store::save::Eviction;
use crate::store::{PageWriter, Reserved, Store};
use crate::sync::Arc;

/// A read under way: its pages are reserved as long as this lives, and it ends exactly once.
#[derive(Debug)]
pub(super) struct Job {
    store: Arc<Store>,
    key: BlockKey,
    bytes: u64,
    /// One a shard, in their order; empty once it has ended.
    writers: Vec<PageWriter>,
    has_ended: bool,
}

impl Job {
    /// Reserves the pages of a block.
    pub(super) fn reserve(
        store: &Arc<Store>,
        key: &BlockKey,
        bytes: u64,
        eviction: Eviction,
    ) -> std::result::Result<Self, Failure> {
        let space = store.spaces.at(key.space).map_err(|_| Failure::Failed)?;
        let mut writers = Vec::with_capacity(space.shards.len());
        for shard in 0..space.shards.len() {
            let reserved = store.reserve_page(&space, shard as u16, *key, None, eviction);
            match reserved.map_err(|_| Failure::Failed)? {
                Reserved::Page(writer) => writers.push(writer),
                Reserved::NoSpace => return Err(Failure::NoRoom),
                Reserved::Present | Reserved::InFlight => return Err(Failure::Busy),
            }
        }
        Ok(Self {
            store: Arc::clone(store),
            key: *key,
            bytes,
            writers,
            has_ended: false,
        })
    }

    /// Where the bytes go.
    pub(super) fn pages(&self) -> Vec<PagePtr> {
        self.writers.iter().map(PageWriter::page).collect()
    }

    /// The bytes are there, with these checksums; or they are not.
    pub(super) fn end(mut self, read: Result<Vec<u128>>) {
        let outcome = match read {
            Ok(checksums) if checksums.len() == self.writers.len() => {
                let mut hits = None;
                for (writer, checksum) in self.writers.drain(..).zip(checksums) {
                    hits = writer.seal_verified(checksum);
                }
                hits.ok_or(Failure::Failed)
            }
            Err(error) if error.kind() == ErrorKind::Corrupt => Err(Failure::Corrupt),
            Ok(_) | Err(_) => Err(Failure::Failed),
        };
        // Its pages are free before anybody is told.
        self.writers.clear();
        self.has_ended = true;
        self.store.end_fetch(&self.key, self.bytes, &outcome);
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if !self.has_ended {
            self.writers.clear();
            let cancelled = Err(Failure::Cancelled);
            self.store.end_fetch(&self.key, self.bytes, &cancelled);
        }
    }
}
