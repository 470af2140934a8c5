//! What a store is opened with.

use std::path::PathBuf;
use std::time::Duration;

use super::{TierConfig, Verify};
use crate::eviction::PolicyKind;

/// The settings of a [`Store`](super::Store).
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// Bytes of the pool; rounded down to whole slabs.
    pub pool_bytes: u64,
    /// Where the pool's file lies: hugetlbfs or tmpfs. None: /dev/shm, or anonymous memory where that has no room.
    pub pool_dir: Option<PathBuf>,
    /// The daemon's socket, which names the pool's files.
    pub socket: PathBuf,
    /// Random per start of the daemon.
    pub boot_id: u64,
    /// Which block goes when room is needed.
    pub policy: PolicyKind,
    /// When pages are compared with their checksums.
    pub verify: Verify,
    /// How long a look at all pages takes, in the background; less when that is less than a page a second.
    pub scrub_period: Duration,
    /// The ssd tier below the pool, if there is one.
    pub tier: Option<TierConfig>,
}

/// A look at all pages takes this long, where nothing else is said.
pub const SCRUB_PERIOD: Duration = Duration::from_secs(24 * 60 * 60);
