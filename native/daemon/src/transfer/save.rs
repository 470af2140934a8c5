//! One save: the engine's blocks into the cache.

use std::iter;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use pegaflow_core::copy::SavePage;
use pegaflow_core::error::Result;
use pegaflow_core::space::SpaceId;
use pegaflow_core::store::{PageWriter, Reserved, Store};

use super::lanes::Batches;
use super::{Grant, Lanes, check_open};
use crate::session::Registration;
use crate::telemetry::InFlight;

/// What is to be saved: a hash and a block id for each block.
#[derive(Debug)]
pub(crate) struct SaveJob {
    /// vLLM's request id, for logs.
    pub(crate) request_id: String,
    pub(crate) registration: Arc<Registration>,
    pub(crate) space: SpaceId,
    pub(crate) shard: u32,
    pub(crate) hashes: Bytes,
    /// As many hashes, of the blocks that they follow, or nothing.
    pub(crate) after: Bytes,
    pub(crate) block_ids: Vec<u32>,
    /// They are slots of the ring.
    pub(crate) in_ring: bool,
    pub(crate) grant: Grant,
}

/// What became of each block; the first four add up to all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct SaveCounts {
    pub(crate) saved: u32,
    pub(crate) present: u32,
    pub(crate) dropped: u32,
    pub(crate) revoked: u32,
    pub(crate) bytes: u64,
}

impl SaveCounts {
    fn by_result(&self) -> [(&'static str, u32); 4] {
        [
            ("saved", self.saved),
            ("present", self.present),
            ("dropped", self.dropped),
            ("revoked", self.revoked),
        ]
    }

    fn blocks(&self) -> u32 {
        self.by_result().iter().map(|(_, blocks)| blocks).sum()
    }
}

impl SaveJob {
    /// Saves, and counts what became of each block.
    ///
    /// # Errors
    /// What the copy or the store says; batches before it stay saved.
    pub(crate) fn run(self, store: Arc<Store>, lanes: &Lanes, mut in_flight: InFlight) -> Result<SaveCounts> {
        let request = self.request_id.clone();
        let (copied, counts) = self.copy(store, lanes);
        for (result, blocks) in counts.by_result() {
            in_flight.count(result, blocks.into());
        }
        copied?;
        let took = in_flight.succeed(counts.saved.into(), counts.bytes);
        tracing::debug!(request, ?counts, ?took, "save");
        Ok(counts)
    }

    /// Copies in batches; what became of the blocks, also of a save that fails.
    fn copy(self, store: Arc<Store>, lanes: &Lanes) -> (Result<()>, SaveCounts) {
        let (registration, all) = (Arc::clone(&self.registration), self.block_ids.len() as u32);
        let (blocks, lanes_wanted) = match registration.way(self.in_ring) {
            Ok(copies) => (copies.batch_blocks(), copies.lanes()),
            Err(error) => return (Err(error), SaveCounts::default()),
        };
        let batches = Arc::new(SaveBatches {
            blocks,
            job: self,
            store,
            counts: Mutex::default(),
        });
        let copied = lanes.run(&batches, lanes_wanted);
        let mut counts = *batches.counts.lock();
        if copied.is_ok() {
            counts.revoked = all - counts.blocks();
        }
        (copied, counts)
    }

    fn is_granted(&self) -> Result<bool> {
        self.registration
            .grants
            .is_valid(self.grant.slot, self.grant.generation)
    }
}

/// A save under way.
struct SaveBatches {
    job: SaveJob,
    store: Arc<Store>,
    /// Of one batch.
    blocks: usize,
    counts: Mutex<SaveCounts>,
}

impl Batches for SaveBatches {
    fn count(&self) -> usize {
        self.job.block_ids.len().div_ceil(self.blocks)
    }

    /// **A batch is sealed only if the grant was valid after its last byte was copied.**
    fn run(&self, batch: usize) -> Result<()> {
        let registration = &self.job.registration;
        check_open(registration)?;
        if !self.job.is_granted()? {
            return Ok(());
        }
        let mut writers = self.reserve(batch)?;
        if writers.is_empty() {
            return Ok(());
        }
        let pages: Vec<SavePage<'_>> = writers
            .iter_mut()
            .map(|(block, writer)| SavePage::new(*block, writer))
            .collect();
        registration.way(self.job.in_ring)?.read(&pages)?;
        drop(pages);
        if !self.job.is_granted()? {
            return Ok(());
        }
        let mut counts = self.counts.lock();
        counts.saved += writers.len() as u32;
        counts.bytes += writers.len() as u64 * registration.geometry.page_bytes;
        drop(counts);
        writers.into_iter().for_each(|(_, writer)| writer.seal());
        Ok(())
    }
}

impl SaveBatches {
    /// Pages for those blocks of a batch that are not cached and have room.
    fn reserve(&self, batch: usize) -> Result<Vec<(u32, PageWriter)>> {
        let SaveJob {
            space,
            shard,
            hashes,
            after,
            block_ids,
            ..
        } = &self.job;
        let hash_bytes = self.job.registration.hash_bytes as usize;
        let after = after.chunks(hash_bytes).map(Some).chain(iter::repeat(None));
        let hashes = hashes.chunks(hash_bytes).zip(after);
        let blocks = hashes.zip(block_ids).skip(batch * self.blocks).take(self.blocks);
        let mut writers = Vec::with_capacity(self.blocks.min(block_ids.len()));
        let (mut present, mut dropped) = (0, 0);
        for ((hash, after), &block) in blocks {
            let after = after.filter(|after| *after != hash);
            match self.store.reserve(*space, *shard, hash, after)? {
                Reserved::Page(writer) => writers.push((block, writer)),
                Reserved::Present | Reserved::InFlight => present += 1,
                Reserved::NoSpace => dropped += 1,
            }
        }
        let mut counts = self.counts.lock();
        counts.present += present;
        counts.dropped += dropped;
        Ok(writers)
    }
}
