//! Another size for a tier, or for one path of it.

use std::sync::atomic::Ordering;

use pegaflow_core::error::Result;
use pegaflow_core::progress::Progress;
use pegaflow_core::ssd::check_capacity;
use serde::{Deserialize, Serialize};

use super::Operate;
use super::amount::Bytes;
use super::path::AbsolutePath;
use super::tier::{Tier, one_path, patiently, refuse_path, ssd_with_paths};
use crate::daemon::Daemon;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierResize {
    tier: Tier,
    size_bytes: Bytes,
    /// The path of the ssd tier; may be left out where there is one only.
    #[serde(default)]
    path: Option<AbsolutePath>,
    /// Whether only to say which size it would be.
    #[serde(default)]
    dry_run: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Resized {
    dry_run: bool,
    before_bytes: u64,
    size_bytes: u64,
    moved_blocks: u64,
    evicted_blocks: u64,
    /// A sentence where the file system of an ssd path is too small.
    warnings: Vec<String>,
}

impl Resized {
    /// What would be.
    fn planned(before_bytes: u64, size_bytes: u64) -> Self {
        Self {
            dry_run: true,
            before_bytes,
            size_bytes,
            moved_blocks: 0,
            evicted_blocks: 0,
            warnings: Vec::new(),
        }
    }
}

impl Operate for TierResize {
    type Outcome = Resized;

    fn operate(&self, daemon: &Daemon, progress: &Progress) -> Result<Resized> {
        match self.tier {
            Tier::Memory => self.memory(daemon, progress),
            Tier::Ssd => self.ssd(daemon, progress),
        }
    }
}

impl TierResize {
    fn memory(&self, daemon: &Daemon, progress: &Progress) -> Result<Resized> {
        refuse_path(self.path.as_ref())?;
        if self.dry_run {
            let size_bytes = daemon.store.whole_memory_bytes(self.size_bytes.get())?;
            return Ok(Resized::planned(daemon.store.settled_memory_bytes(), size_bytes));
        }
        let resized = daemon.store.resize_memory(self.size_bytes.get(), progress)?;
        daemon
            .is_pool_resized
            .fetch_or(resized.bytes != resized.before_bytes, Ordering::Relaxed);
        Ok(Resized {
            dry_run: false,
            before_bytes: resized.before_bytes,
            size_bytes: resized.bytes,
            moved_blocks: resized.moved_blocks,
            evicted_blocks: resized.evicted_blocks,
            warnings: Vec::new(),
        })
    }

    fn ssd(&self, daemon: &Daemon, progress: &Progress) -> Result<Resized> {
        let ssd = ssd_with_paths(daemon)?;
        let path = one_path(ssd, self.path.as_ref())?;
        let look = || {
            let snapshot = ssd.snapshot();
            let path = snapshot.paths.into_iter().find(|of| of.dir == path);
            path.map_or((0, 0), |path| (path.capacity, path.evicted_blocks))
        };
        let (before_bytes, evicted_before) = look();
        if self.dry_run {
            check_capacity(&path, self.size_bytes.get())?;
            return Ok(Resized::planned(before_bytes, self.size_bytes.get()));
        }
        patiently(progress, |patience| {
            ssd.resize(&path, self.size_bytes.get(), patience)
        })?;
        daemon.look_for_room();
        let (size_bytes, evicted_blocks) = look();
        Ok(Resized {
            dry_run: false,
            before_bytes,
            size_bytes,
            moved_blocks: 0,
            evicted_blocks: evicted_blocks.saturating_sub(evicted_before),
            warnings: daemon.ssd_room.shortages_of(&path),
        })
    }
}
