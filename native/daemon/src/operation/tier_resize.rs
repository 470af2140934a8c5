//! Another size for a tier, or for one path of it.

use pegaflow_core::error::Result;
use pegaflow_core::progress::Progress;
use serde::{Deserialize, Serialize};

use super::Operate;
use super::tier::{Tier, TierPath, refuse_path};
use crate::daemon::Daemon;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierResize {
    tier: Tier,
    size_bytes: u64,
    /// The path of the ssd tier; may be left out where there is one only.
    #[serde(default)]
    path: Option<TierPath>,
}

#[derive(Debug, Serialize)]
pub(super) struct Resized {
    before_bytes: u64,
    size_bytes: u64,
    moved_blocks: u64,
    evicted_blocks: u64,
}

impl Operate for TierResize {
    type Outcome = Resized;

    fn operate(&self, daemon: &Daemon, progress: &Progress) -> Result<Resized> {
        match self.tier {
            Tier::Memory => self.memory(daemon, progress),
            Tier::Ssd => Err(super::tier::no_ssd()),
        }
    }
}

impl TierResize {
    fn memory(&self, daemon: &Daemon, progress: &Progress) -> Result<Resized> {
        refuse_path(self.path.as_ref())?;
        let resized = daemon.store.resize_memory(self.size_bytes, progress)?;
        Ok(Resized {
            before_bytes: resized.before_bytes,
            size_bytes: resized.bytes,
            moved_blocks: resized.moved_blocks,
            evicted_blocks: resized.evicted_blocks,
        })
    }
}
