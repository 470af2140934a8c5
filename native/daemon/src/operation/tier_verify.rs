//! Comparing all that a tier has with its checksums.

use std::ops::ControlFlow;

use pegaflow_core::error::Result;
use pegaflow_core::progress::Progress;
use pegaflow_core::ssd::VerifyProgress;
use serde::{Deserialize, Serialize};

use super::Operate;
use super::tier::{Tier, TierPath, paths, refuse_path, ssd_with_paths};
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
            Tier::Ssd => self.ssd(daemon, progress),
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

    fn ssd(&self, daemon: &Daemon, progress: &Progress) -> Result<Verified> {
        let ssd = ssd_with_paths(daemon)?;
        let paths = paths(ssd, self.path.as_ref())?;
        let all = ssd.snapshot().paths;
        let affected = all.iter().filter(|path| paths.contains(&path.dir));
        let (blocks, bytes) = affected.fold((0, 0), |(blocks, bytes), path| {
            (blocks + path.blocks, bytes + path.bytes)
        });
        progress.expect(blocks, bytes);
        let mut total = VerifyProgress::default();
        for path in paths {
            let mut told = VerifyProgress::default();
            let end = ssd.verify(&path, &mut |now| {
                progress.advance(now.checked - told.checked, now.bytes - told.bytes);
                told = now;
                if progress.is_cancelled() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            })?;
            total.checked += end.checked;
            total.bytes += end.bytes;
            total.corrupt += end.corrupt;
            if progress.is_cancelled() {
                break;
            }
        }
        Ok(Verified {
            tier: self.tier,
            verified: total.checked - total.corrupt,
            bytes: total.bytes,
            corrupt: total.corrupt,
            pending: 0,
        })
    }
}
