//! Paths of the ssd tier that come and go while it works.

use std::fmt::Display;
use std::path::PathBuf;

use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::progress::Progress;
use pegaflow_core::ssd::{
    MIN_CAPACITY, PathFiles, PathState, SsdPathConfig, check_capacity, held_bytes, remove_made,
};
use serde::{Deserialize, Serialize};

use super::Operate;
use super::amount::Bytes;
use super::path::AbsolutePath;
use super::tier::{paths, patiently, ssd, ssd_with_paths};
use crate::check::ssd_place;
use crate::config::check_path;
use crate::daemon::Daemon;
use crate::ssd_room::size;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierAddPath {
    path: AbsolutePath,
    size_bytes: Bytes,
    /// Whether what the path holds and has no room for is evicted; else it is not added.
    #[serde(default)]
    evict: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierRemovePath {
    path: AbsolutePath,
    /// Whether the files go too; else they can be added again.
    #[serde(default)]
    delete_files: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Added {
    #[serde(flatten)]
    changed: Changed,
    /// Blocks that were there and had no room.
    evicted_blocks: u64,
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
        let others = others.unwrap_or_default();
        check_path(&self.path.0, &others)?;
        ssd_place(&self.path.0)?;
        let capacity = self.size_bytes.get();
        check_capacity(&self.path.0, capacity)?;
        let held = if others.contains(&self.path.0) {
            0
        } else {
            held_bytes(&self.path.0).map_err(|error| self.not_added(&error))?
        };
        let is_smaller = held > capacity;
        if is_smaller && !self.evict {
            return Err(self.holds_more(held));
        }
        let path = SsdPathConfig {
            dir: self.path.0.clone(),
            // It is opened with all that it holds first, so that what goes is counted.
            capacity: if is_smaller {
                held.saturating_mul(2).saturating_add(MIN_CAPACITY)
            } else {
                capacity
            },
        };
        let is_new = !self.path.0.exists();
        let added = daemon.store.add_ssd_paths(daemon.config.tier_on(vec![path]));
        // Somebody else may have made it meanwhile.
        let is_own = is_new
            && !added
                .as_ref()
                .is_err_and(|error| error.kind() == ErrorKind::Conflict);
        let added = added
            .map_err(|error| self.not_added(&error))
            .and_then(|()| self.take_back_offline(daemon, progress));
        daemon.look_for_room();
        added.inspect_err(|_| {
            if is_own {
                remove_made(&self.path.0);
            }
        })?;
        let before = changed(daemon, &self.path)?;
        if is_smaller {
            let ssd = ssd(daemon)?;
            patiently(progress, |patience| ssd.resize(&self.path.0, capacity, patience))?;
            daemon.look_for_room();
        }
        let changed = changed(daemon, &self.path)?;
        Ok(Added {
            evicted_blocks: before.blocks.saturating_sub(changed.blocks),
            changed,
            warnings: daemon.ssd_room.shortages_of(&self.path.0),
        })
    }
}

impl TierAddPath {
    /// Whatever is wrong with it: another path, or this one when that is mended, can be given.
    fn not_added(&self, reason: &impl Display) -> Error {
        Error::new(
            ErrorKind::Config,
            format!(
                "ssd path {:?} is not added, since it cannot be used: {reason}",
                self.path.0
            ),
        )
    }

    fn holds_more(&self, held: u64) -> Error {
        Error::new(
            ErrorKind::Config,
            format!(
                "ssd path {:?} is not added, since it holds files of {} and is to have {}, so that its oldest blocks would be evicted: give it more, or `--yes` (evict, true) to evict them",
                self.path.0,
                size(held.into()),
                size(self.size_bytes.get().into())
            ),
        )
    }

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
                return Err(self.not_added(&reason));
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
fn changed(daemon: &Daemon, path: &AbsolutePath) -> Result<Changed> {
    let all = ssd(daemon)?.snapshot().paths;
    let found = all.into_iter().find(|of| of.dir == path.0).unwrap_or_default();
    Ok(Changed {
        path: path.0.clone(),
        blocks: found.blocks,
        bytes: found.bytes,
    })
}
