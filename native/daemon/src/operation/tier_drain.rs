//! Emptying a tier, once the other one has what it has room for.

use pegaflow_core::error::Result;
use pegaflow_core::progress::Progress;
use serde::{Deserialize, Serialize};

use super::Operate;
use super::path::AbsolutePath;
use super::tier::{Tier, refuse_path};
use super::tier_evict::{Evicted, evict_ssd};
use super::tier_flush::write_memory;
use super::warm::fill_memory;
use crate::daemon::Daemon;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierDrain {
    tier: Tier,
    /// A path of the ssd tier, which alone is emptied; null is all of them.
    #[serde(default)]
    path: Option<AbsolutePath>,
}

#[derive(Debug, Serialize)]
pub(super) struct Drained {
    tier: Tier,
    /// Blocks that the other tier was given.
    copied_blocks: u64,
    copied_bytes: u64,
    /// Blocks of memory that ssd has no room for, which stay.
    no_room_blocks: u64,
    #[serde(flatten)]
    evicted: Evicted,
}

impl Operate for TierDrain {
    type Outcome = Drained;

    fn operate(&self, daemon: &Daemon, progress: &Progress) -> Result<Drained> {
        let (copied_blocks, copied_bytes, no_room_blocks) = match self.tier {
            Tier::Memory => {
                refuse_path(self.path.as_ref())?;
                let end = write_memory(daemon, progress)?;
                (end.written_blocks, end.written_bytes, end.no_room_blocks)
            }
            Tier::Ssd => {
                let end = fill_memory(daemon, self.path.as_ref(), progress)?;
                (end.fetched_blocks, end.fetched_bytes, 0)
            }
        };
        let evicted = if progress.is_cancelled() {
            // What is only here stays.
            Evicted::default()
        } else if self.tier == Tier::Memory {
            // What was saved meanwhile is only here.
            daemon.store.evict_copied(progress)?.into()
        } else {
            evict_ssd(daemon, self.path.as_ref(), None, progress)?
        };
        Ok(Drained {
            tier: self.tier,
            copied_blocks,
            copied_bytes,
            no_room_blocks,
            evicted,
        })
    }
}
