//! One load: leased blocks into the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use pegaflow_core::copy::LoadPage;
use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::lease::LoadPass;

use super::lanes::Batches;
use super::{Grant, Lanes, check_open};
use crate::session::Registration;
use crate::telemetry::InFlight;

/// What is to be loaded, and where to.
#[derive(Debug)]
pub(crate) struct LoadJob {
    /// vLLM's request id, for logs.
    pub(crate) request_id: String,
    pub(crate) registration: Arc<Registration>,
    pub(crate) pass: LoadPass,
    pub(crate) shard: u32,
    pub(crate) block_ids: Vec<u32>,
    /// They are slots of the ring.
    pub(crate) in_ring: bool,
    pub(crate) grant: Grant,
}

/// How a load ended that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LoadEnd {
    /// All bytes are in place.
    Loaded { bytes: u64 },
    /// The engine took its leave back; some bytes may be in place.
    Revoked,
}

impl LoadJob {
    /// Loads, and counts what became of the blocks.
    ///
    /// # Errors
    /// What the copy says: some bytes may be in place.
    pub(crate) fn run(self, lanes: &Lanes, mut in_flight: InFlight) -> Result<LoadEnd> {
        let request = self.request_id.clone();
        let blocks = self.block_ids.len() as u64;
        let end = self.copy(lanes)?;
        match end {
            LoadEnd::Loaded { bytes } => {
                in_flight.count("loaded", blocks);
                let took = in_flight.succeed(blocks, bytes);
                tracing::debug!(request, blocks, ?took, "load");
            }
            LoadEnd::Revoked => {
                in_flight.revoked(blocks);
                tracing::debug!(request, blocks, "a load was revoked");
            }
        }
        Ok(end)
    }

    /// Copies in batches while it has the grant: **no byte is written without it**, and no batch begins after a revoke.
    fn copy(self, lanes: &Lanes) -> Result<LoadEnd> {
        let registration = Arc::clone(&self.registration);
        let bytes = self.block_ids.len() as u64 * registration.geometry.page_bytes;
        let Some(taken) = registration.grants.take(self.grant.slot, self.grant.generation)? else {
            return Ok(LoadEnd::Revoked);
        };
        let copies = registration.way(self.in_ring)?;
        let batches = Arc::new(LoadBatches {
            blocks: copies.batch_blocks(),
            job: self,
            is_revoked: AtomicBool::new(false),
        });
        let copied = lanes.run(&batches, copies.lanes());
        drop(taken);
        copied?;
        Ok(if batches.is_revoked.load(Relaxed) {
            LoadEnd::Revoked
        } else {
            LoadEnd::Loaded { bytes }
        })
    }

    /// The pages of one batch, each what its checksum says.
    fn pages(&self, first: usize, block_ids: &[u32]) -> Result<Vec<LoadPage<'_>>> {
        let page = |(index, &block): (usize, &u32)| {
            self.pass.verify(first + index, self.shard)?;
            LoadPage::new(block, &self.pass, first + index, self.shard).ok_or_else(|| {
                Error::new(
                    ErrorKind::Invalid,
                    format!("the lease has no page of shard {} at {index}", self.shard),
                )
            })
        };
        block_ids.iter().enumerate().map(page).collect()
    }
}

/// A load that has the grant.
struct LoadBatches {
    job: LoadJob,
    /// Of one batch.
    blocks: usize,
    is_revoked: AtomicBool,
}

impl Batches for LoadBatches {
    fn count(&self) -> usize {
        self.job.block_ids.len().div_ceil(self.blocks)
    }

    fn run(&self, batch: usize) -> Result<()> {
        let LoadJob {
            registration, grant, ..
        } = &self.job;
        let first = batch * self.blocks;
        let Some(block_ids) = self.job.block_ids.chunks(self.blocks).nth(batch) else {
            return Ok(());
        };
        check_open(registration)?;
        let pages = self.job.pages(first, block_ids)?;
        // The engine waits for the batches that have begun, for no others.
        if self.is_revoked.load(Relaxed) || !registration.grants.is_valid(grant.slot, grant.generation)? {
            self.is_revoked.store(true, Relaxed);
            return Ok(());
        }
        registration.way(self.job.in_ring)?.write(&pages)
    }
}
