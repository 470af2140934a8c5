//! One load: leased blocks into the engine.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use pegaflow_core::copy::{Copying, LoadPage, Pins};
use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::grant::TakenGuard;
use pegaflow_core::lease::LoadPass;

use super::lanes::Batches;
use super::threads::Begun;
use super::{Grant, Lanes, check_open};
use crate::session::Registration;
use crate::telemetry::InFlight;

/// What is to be loaded, and where to.
#[derive(Debug)]
pub(crate) struct LoadJob {
    /// vLLM's request id, for logs.
    pub(crate) request_id: String,
    pub(crate) registration: Arc<Registration>,
    pub(crate) pass: Arc<LoadPass>,
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
    pub(crate) fn run(self, lanes: &Lanes, in_flight: InFlight) -> Result<LoadEnd> {
        let request = self.request_id.clone();
        let blocks = self.block_ids.len() as u64;
        let end = self.copy(lanes)?;
        count(end, &request, blocks, in_flight);
        Ok(end)
    }

    /// Begins a load whose copies are few, and whose pages nobody has to look at before; None for one that should be
    /// [run](Self::run).
    ///
    /// # Errors
    /// As of `run`.
    pub(crate) fn begin(&self) -> Result<Option<LoadCopies>> {
        let registration = &self.registration;
        let copies = registration.way(self.in_ring)?;
        let is_ready = |index| self.pass.is_verified(index, self.shard);
        if self.block_ids.len() > copies.batch_blocks() || !(0..self.block_ids.len()).all(is_ready) {
            return Ok(None);
        }
        check_open(registration)?;
        let pages = self.pages(0, &self.block_ids)?;
        let Some(taken) = registration.grants.take(self.grant.slot, self.grant.generation)? else {
            return Ok(None);
        };
        let pins: Pins = Arc::<LoadPass>::clone(&self.pass);
        let copying = copies.begin_write(&pages, &pins)?;
        Ok(copying.map(|copying| LoadCopies { copying, taken }))
    }

    fn bytes(&self) -> u64 {
        self.block_ids.len() as u64 * self.registration.geometry.page_bytes
    }

    /// Copies in batches while it has the grant: **no byte is written without it**, and no batch begins after a revoke.
    fn copy(self, lanes: &Lanes) -> Result<LoadEnd> {
        let registration = Arc::clone(&self.registration);
        let bytes = self.bytes();
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

/// Copies of a load that go on by themselves; the grant is given back after their end.
pub(crate) struct LoadCopies {
    copying: Box<dyn Copying>,
    taken: TakenGuard,
}

/// A load whose copies go on by themselves.
pub(crate) struct BegunLoad {
    pub(crate) copies: LoadCopies,
    pub(crate) job: LoadJob,
    pub(crate) in_flight: InFlight,
}

impl Begun for BegunLoad {
    type End = LoadEnd;

    fn has_ended(&self) -> bool {
        self.copies.copying.has_ended()
    }

    fn finish(self) -> Result<LoadEnd> {
        let Self {
            copies: LoadCopies { copying, taken },
            job,
            in_flight,
        } = self;
        let copied = copying.finish();
        drop(taken);
        copied?;
        let end = LoadEnd::Loaded { bytes: job.bytes() };
        count(end, &job.request_id, job.block_ids.len() as u64, in_flight);
        Ok(end)
    }
}

fn count(end: LoadEnd, request: &str, blocks: u64, mut in_flight: InFlight) {
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
