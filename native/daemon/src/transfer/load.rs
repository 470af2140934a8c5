//! One load: leased blocks into the engine.

use std::sync::Arc;

use pegaflow_core::copy::LoadPage;
use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::lease::LoadPass;

use super::{Grant, check_open};
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
    pub(crate) fn run(&self, mut in_flight: InFlight) -> Result<LoadEnd> {
        let end = self.copy()?;
        let blocks = self.block_ids.len() as u64;
        match end {
            LoadEnd::Loaded { bytes } => {
                in_flight.count("loaded", blocks);
                let took = in_flight.succeed(blocks, bytes);
                tracing::debug!(request = self.request_id, blocks, ?took, "load");
            }
            LoadEnd::Revoked => {
                in_flight.revoked(blocks);
                tracing::debug!(request = self.request_id, blocks, "a load was revoked");
            }
        }
        Ok(end)
    }

    /// Copies in batches, and takes the grant for each of them: **no byte is written without it**.
    fn copy(&self) -> Result<LoadEnd> {
        let batch_blocks = self.registration.copies.batch_blocks();
        for (batch, block_ids) in self.block_ids.chunks(batch_blocks).enumerate() {
            check_open(&self.registration)?;
            let pages = self.pages(batch * batch_blocks, block_ids)?;
            let Some(taken) = self
                .registration
                .grants
                .take(self.grant.slot, self.grant.generation)?
            else {
                return Ok(LoadEnd::Revoked);
            };
            self.registration.copies.write(&pages)?;
            drop(taken);
        }
        let bytes = self.block_ids.len() as u64 * self.registration.geometry.page_bytes;
        Ok(LoadEnd::Loaded { bytes })
    }

    /// The pages of one batch, each what its checksum says; verified before the grant is taken, which makes the engine wait.
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
