//! Evicting the coldest blocks of a tier.

use pegaflow_core::error::Result;
use pegaflow_core::progress::Progress;
use serde::{Deserialize, Serialize};

use super::Operate;
use super::amount::Amount;
use super::path::AbsolutePath;
use super::tier::{Tier, paths, patiently, refuse_path, ssd_with_paths};
use crate::daemon::Daemon;

/// Steps in which much is evicted from ssd, between which the eviction can be cancelled.
const STEPS: u64 = 32;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierEvict {
    tier: Tier,
    /// Of what the tier, or the path, has in use.
    amount: Amount,
    /// A path of the ssd tier; null is as much of each.
    #[serde(default)]
    path: Option<AbsolutePath>,
}

#[derive(Debug, Default, Serialize)]
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
            Tier::Memory => {
                refuse_path(self.path.as_ref())?;
                evict_memory(daemon, Some(self.amount), progress)
            }
            Tier::Ssd => evict_ssd(daemon, self.path.as_ref(), Some(self.amount), progress),
        }
    }
}

/// Evicts a part of what is in memory, or all that can go.
fn evict_memory(daemon: &Daemon, amount: Option<Amount>, progress: &Progress) -> Result<Evicted> {
    let used_bytes = daemon.store.pool_snapshot().used_bytes;
    let bytes = amount.map(|amount| amount.of(used_bytes));
    Ok(daemon.store.evict_memory(bytes, progress)?.into())
}

impl From<pegaflow_core::store::Evicted> for Evicted {
    fn from(evicted: pegaflow_core::store::Evicted) -> Self {
        Self {
            blocks: evicted.blocks,
            bytes: evicted.bytes,
            kept_blocks: evicted.kept_blocks,
            kept_bytes: evicted.kept_bytes,
        }
    }
}

/// Evicts a part of what is on ssd, or all of it, the oldest first.
pub(super) fn evict_ssd(
    daemon: &Daemon,
    path: Option<&AbsolutePath>,
    amount: Option<Amount>,
    progress: &Progress,
) -> Result<Evicted> {
    let ssd = ssd_with_paths(daemon)?;
    let affected = paths(ssd, path)?;
    let used_bytes = ssd
        .snapshot()
        .paths
        .iter()
        .filter(|path| affected.contains(&path.dir))
        .map(|path| path.bytes)
        .sum();
    let bytes = amount.map_or(used_bytes, |amount| amount.of(used_bytes).min(used_bytes));
    progress.expect(0, bytes);
    let mut evicted = Evicted::default();
    while evicted.bytes < bytes && !progress.is_cancelled() {
        let step = (bytes / STEPS).max(1).min(bytes - evicted.bytes);
        let gone = patiently(progress, |patience| {
            ssd.evict(path.map(AsRef::as_ref), step, patience)
        })?;
        if gone.blocks == 0 {
            break;
        }
        progress.advance(gone.blocks, gone.bytes);
        evicted.blocks += gone.blocks;
        evicted.bytes += gone.bytes;
    }
    Ok(evicted)
}
