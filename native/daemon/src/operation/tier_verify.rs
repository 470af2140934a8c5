//! Comparing all that a tier has with its checksums.

use std::ops::ControlFlow;
use std::path::PathBuf;

use pegaflow_core::error::Result;
use pegaflow_core::progress::Progress;
use pegaflow_core::ssd::VerifyProgress;
use serde::{Deserialize, Serialize};

use super::Operate;
use super::path::AbsolutePath;
use super::tier::{Tier, paths, refuse_path, ssd_with_paths};
use crate::daemon::Daemon;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierVerify {
    tier: Tier,
    /// A path of the ssd tier; null is all of them.
    #[serde(default)]
    path: Option<AbsolutePath>,
}

/// In pages of the memory tier, and in blocks of the ssd tier: what is written and read as a whole.
#[derive(Debug, Serialize)]
pub(super) struct Verified {
    tier: Tier,
    verified: u64,
    bytes: u64,
    corrupt: u64,
    pending: u64,
    /// Of the ssd tier what each path had; else none.
    paths: Vec<VerifiedPath>,
}

#[derive(Debug, Serialize)]
struct VerifiedPath {
    path: PathBuf,
    verified: u64,
    bytes: u64,
    corrupt: u64,
    /// Why not all of it was compared; null when it was.
    reason: Option<String>,
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
            paths: Vec::new(),
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
        let mut verified = Vec::new();
        let mut failed = None;
        for path in paths {
            let mut told = VerifyProgress::default();
            let ended = ssd.verify(&path, &mut |now| {
                progress.advance(now.checked - told.checked, now.bytes - told.bytes);
                told = now;
                if progress.is_cancelled() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            verified.push(VerifiedPath {
                path,
                verified: told.checked - told.corrupt - told.gone,
                bytes: told.bytes,
                corrupt: told.corrupt,
                reason: ended.as_ref().err().map(|error| error.message().to_owned()),
            });
            failed = failed.or(ended.err());
            if progress.is_cancelled() {
                break;
            }
        }
        match failed {
            Some(error) if verified.iter().all(|path| path.reason.is_some()) => return Err(error),
            _ => {}
        }
        let sum = |part: fn(&VerifiedPath) -> u64| verified.iter().map(part).sum();
        Ok(Verified {
            tier: self.tier,
            verified: sum(|path| path.verified),
            bytes: sum(|path| path.bytes),
            corrupt: sum(|path| path.corrupt),
            pending: 0,
            paths: verified,
        })
    }
}
