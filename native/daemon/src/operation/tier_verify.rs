//! Comparing all that a tier has with its checksums.

use pegaflow_core::error::Result;
use pegaflow_core::progress::Progress;
use serde::{Deserialize, Serialize};

use super::Operate;
use super::tier::{Tier, TierPath, no_ssd, refuse_path};
use crate::daemon::Daemon;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierVerify {
    tier: Tier,
    /// A path of the ssd tier; null is all of them.
    #[serde(default)]
    path: Option<TierPath>,
}

/// In pages of the memory tier, and in blocks of the ssd tier: what is written and read as a whole.
#[derive(Debug, Serialize)]
pub(super) struct Verified {
    tier: Tier,
    verified: u64,
    bytes: u64,
    corrupt: u64,
    pending: u64,
}

impl Operate for TierVerify {
    type Outcome = Verified;

    fn operate(&self, daemon: &Daemon, progress: &Progress) -> Result<Verified> {
        match self.tier {
            Tier::Memory => self.memory(daemon, progress),
            Tier::Ssd => Err(no_ssd()),
        }
    }
}

impl TierVerify {
    fn memory(&self, daemon: &Daemon, progress: &Progress) -> Result<Verified> {
        refuse_path(self.path.as_ref())?;
        let verified = daemon.store.verify_memory(progress);
        Ok(Verified {
            tier: self.tier,
            verified: verified.pages,
            bytes: verified.bytes,
            corrupt: verified.corrupt_pages,
            pending: verified.pending_pages,
        })
    }
}
