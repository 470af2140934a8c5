//! A worker's memory, as the daemon reaches it.

use std::sync::Arc;
use std::time::Duration;

use pegaflow_core::copy::CopyEngine;
use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::grant::GrantFile;
use pegaflow_core::layout::BlockLayout;
use pegaflow_core::pause;
use pegaflow_core::space::ShardGeometry;

use super::{Namespace, Session};

/// What a worker registered; its grant file is there while this lives.
pub(crate) struct Registration {
    pub(crate) id: u64,
    pub(crate) session: Arc<Session>,
    pub(crate) namespace: Namespace,
    pub(crate) hash_bytes: u32,
    pub(crate) group: u32,
    pub(crate) geometry: ShardGeometry,
    pub(crate) copies: Box<dyn CopyEngine>,
    pub(crate) grants: Arc<GrantFile>,
}

impl Registration {
    /// How long the answer to a transfer of so many blocks is worth staying awake for: on a GPU, as long as short copies take.
    pub(crate) fn patience(&self, blocks: usize) -> Duration {
        if self.copies.points() == 0 {
            return Duration::ZERO;
        }
        pause::of_copies(blocks as u64 * self.geometry.page_bytes)
    }

    /// Bytes of all its blocks.
    pub(super) fn mapped_bytes(&self) -> u64 {
        u64::from(self.copies.layout().num_blocks()) * self.geometry.page_bytes
    }

    /// A way to its blocks; with `in_ring`, to the slots of its ring.
    ///
    /// # Errors
    /// `Invalid` for the ring of a worker that has none.
    pub(crate) fn way(&self, in_ring: bool) -> Result<&dyn CopyEngine> {
        if !in_ring {
            return Ok(&*self.copies);
        }
        self.copies.ring().ok_or_else(|| {
            Error::new(
                ErrorKind::Invalid,
                "in_ring is set, but this registration uses no ring: name blocks",
            )
        })
    }

    /// The geometry that this layout gives a shard.
    pub(crate) fn geometry_of(layout: &BlockLayout) -> ShardGeometry {
        ShardGeometry {
            page_bytes: layout.page_bytes(),
            digest: layout.segments_digest(),
        }
    }
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration")
            .field("id", &self.id)
            .field("geometry", &self.geometry)
            .finish_non_exhaustive()
    }
}
