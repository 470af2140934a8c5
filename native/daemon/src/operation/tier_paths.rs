//! Paths of the ssd tier that come and go while it works.

use std::path::PathBuf;

use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::progress::Progress;
use pegaflow_core::ssd::{PathFiles, PathState, SsdPathConfig};
use serde::{Deserialize, Serialize};

use super::Operate;
use super::amount::Bytes;
use super::tier::{TierPath, paths, patiently, ssd, ssd_with_paths};
use crate::check::ssd_place;
use crate::config::check_path;
use crate::daemon::Daemon;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierAddPath {
    path: TierPath,
    size_bytes: Bytes,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierRemovePath {
    path: TierPath,
    /// Whether the files go too; else they can be added again.
    #[serde(default)]
    delete_files: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Added {
    #[serde(flatten)]
    changed: Changed,
    /// A sentence where its file system is too small.
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Changed {
    path: PathBuf,
    /// Blocks that came with the path, or went with it.
    blocks: u64,
    bytes: u64,
}

impl Operate for TierAddPath {
    type Outcome = Added;

    fn operate(&self, daemon: &Daemon, progress: &Progress) -> Result<Added> {
        let others = daemon.store.ssd().map(|ssd| paths(ssd, None)).transpose()?;
        check_path(&self.path.0, &others.unwrap_or_default())?;
        ssd_place(&self.path.0)?;
        let path = SsdPathConfig {
            dir: self.path.0.clone(),
            capacity: self.size_bytes.get(),
        };
        daemon.store.add_ssd_paths(daemon.config.tier_on(vec![path]))?;
        let added = self.take_back_offline(daemon, progress);
        daemon.look_for_room();
        added?;
        Ok(Added {
            changed: changed(daemon, &self.path)?,
            warnings: daemon.ssd_room.shortages_of(&self.path.0),
        })
    }
}

impl TierAddPath {
    /// Removes the path again if it is offline: whoever adds a path sees what is wrong with it, and can try again.
    ///
    /// # Errors
    /// `Config` with the reason, when it is gone.
    fn take_back_offline(&self, daemon: &Daemon, progress: &Progress) -> Result<()> {
        let ssd = ssd(daemon)?;
        let paths = ssd.snapshot().paths.into_iter();
        let states = paths.filter(|of| of.dir == self.path.0).map(|of| of.state);
        for state in states {
            if let PathState::Offline { reason } = state {
                // It is forgotten also where its disk does not answer.
                drop(patiently(progress, |patience| {
                    ssd.remove_path(&self.path.0, PathFiles::Keep, patience)
                }));
                return Err(Error::new(
                    ErrorKind::Config,
                    format!(
                        "ssd path {:?} is not added, since it cannot be used: {reason}",
                        self.path.0
                    ),
                ));
            }
        }
        Ok(())
    }
}

impl Operate for TierRemovePath {
    type Outcome = Changed;

    fn operate(&self, daemon: &Daemon, progress: &Progress) -> Result<Changed> {
        let ssd = ssd_with_paths(daemon)?;
        paths(ssd, Some(&self.path))?;
        let changed = changed(daemon, &self.path)?;
        let files = if self.delete_files {
            PathFiles::Delete
        } else {
            PathFiles::Keep
        };
        let removed = patiently(progress, |patience| {
            ssd.remove_path(&self.path.0, files, patience)
        });
        // It is gone, whatever becomes of its files.
        daemon.look_for_room();
        removed.map(|_| changed)
    }
}

/// What a path has now.
fn changed(daemon: &Daemon, path: &TierPath) -> Result<Changed> {
    let all = ssd(daemon)?.snapshot().paths;
    let found = all.into_iter().find(|of| of.dir == path.0).unwrap_or_default();
    Ok(Changed {
        path: path.0.clone(),
        blocks: found.blocks,
        bytes: found.bytes,
    })
}
