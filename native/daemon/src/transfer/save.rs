//! One save: the engine's blocks into the cache.

use std::sync::Arc;

use bytes::Bytes;
use pegaflow_core::copy::SavePage;
use pegaflow_core::error::Result;
use pegaflow_core::space::SpaceId;
use pegaflow_core::store::{PageWriter, Reserved, Store};

use super::{Grant, check_open};
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
    pub(crate) block_ids: Vec<u32>,
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
    pub(crate) fn run(&self, store: &Arc<Store>, mut in_flight: InFlight) -> Result<SaveCounts> {
        let mut counts = SaveCounts::default();
        let copied = self.copy(store, &mut counts);
        for (result, blocks) in counts.by_result() {
            in_flight.count(result, blocks.into());
        }
        copied?;
        let took = in_flight.succeed(counts.saved.into(), counts.bytes);
        tracing::debug!(request = self.request_id, ?counts, ?took, "save");
        Ok(counts)
    }

    /// Copies in batches. **A batch is sealed only if the grant was valid after its last byte was copied.**
    fn copy(&self, store: &Arc<Store>, counts: &mut SaveCounts) -> Result<()> {
        let hash_bytes = self.registration.hash_bytes as usize;
        let batch_blocks = self.registration.copies.batch_blocks();
        let batches = self
            .hashes
            .chunks(hash_bytes * batch_blocks)
            .zip(self.block_ids.chunks(batch_blocks));
        for (hashes, block_ids) in batches {
            check_open(&self.registration)?;
            if !self.is_granted()? {
                break;
            }
            let mut writers = self.reserve(store, hashes.chunks(hash_bytes), block_ids, counts)?;
            if writers.is_empty() {
                continue;
            }
            let pages: Vec<SavePage<'_>> = writers
                .iter_mut()
                .map(|(block, writer)| SavePage::new(*block, writer))
                .collect();
            self.registration.copies.read(&pages)?;
            drop(pages);
            if !self.is_granted()? {
                break;
            }
            counts.saved += writers.len() as u32;
            counts.bytes += writers.len() as u64 * self.registration.geometry.page_bytes;
            writers.into_iter().for_each(|(_, writer)| writer.seal());
        }
        counts.revoked = self.block_ids.len() as u32 - counts.blocks();
        Ok(())
    }

    fn is_granted(&self) -> Result<bool> {
        self.registration
            .grants
            .is_valid(self.grant.slot, self.grant.generation)
    }

    /// Pages for those blocks that are not cached and have room.
    fn reserve<'a>(
        &self,
        store: &Arc<Store>,
        hashes: impl Iterator<Item = &'a [u8]>,
        block_ids: &[u32],
        counts: &mut SaveCounts,
    ) -> Result<Vec<(u32, PageWriter)>> {
        let mut writers = Vec::with_capacity(block_ids.len());
        for (hash, &block) in hashes.zip(block_ids) {
            match store.reserve(self.space, self.shard, hash)? {
                Reserved::Page(writer) => writers.push((block, writer)),
                Reserved::Present | Reserved::InFlight => counts.present += 1,
                Reserved::NoSpace => counts.dropped += 1,
            }
        }
        Ok(writers)
    }
}
