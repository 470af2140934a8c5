//! Evicting the coldest blocks of a tier.

use pegaflow_core::error::Result;
use pegaflow_core::progress::Progress;
use serde::{Deserialize, Serialize};

use super::Operate;
use super::amount::Amount;
use super::tier::{Tier, TierPath, refuse_path};
use crate::daemon::Daemon;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierEvict {
    tier: Tier,
    /// Of what the tier, or the path, has in use; null is all of it.
    #[serde(default)]
    amount: Option<Amount>,
    #[serde(default)]
    path: Option<TierPath>,
}

#[derive(Debug, Serialize)]
pub(super) struct Evicted {
    blocks: u64,
    bytes: u64,
    kept_blocks: u64,
    kept_bytes: u64,
}

impl Operate for TierEvict {
    type Outcome = Evicted;

    fn operate(&self, daemon: &Daemon, progress: &Progress) -> Result<Evicted> {
        match self.tier {
            Tier::Memory => self.memory(daemon, progress),
            Tier::Ssd => Err(super::tier::no_ssd()),
        }
    }
}

impl TierEvict {
    fn memory(&self, daemon: &Daemon, progress: &Progress) -> Result<Evicted> {
        refuse_path(self.path.as_ref())?;
        let used_bytes = daemon.store.pool_snapshot().used_bytes;
        let bytes = self.amount.map(|amount| amount.of(used_bytes));
        let evicted = daemon.store.evict_memory(bytes, progress)?;
        Ok(Evicted {
            blocks: evicted.blocks,
            bytes: evicted.bytes,
            kept_blocks: evicted.kept_blocks,
            kept_bytes: evicted.kept_bytes,
        })
    }
}
