//! Plain numbers for status and metrics.

use std::path::PathBuf;

use crate::eviction::PolicyKind;
use crate::pool::PoolKind;
use crate::space::SpaceKey;

/// The state of a store at one time; the counters count from the open on.
#[derive(Debug, Clone, Default)]
pub struct StoreSnapshot {
    /// The pool.
    pub pool: PoolSnapshot,
    /// The eviction policy.
    pub policy: PolicyKind,
    /// Each space, in the order in which they were made.
    pub spaces: Vec<SpaceSnapshot>,
    /// Pages that are being filled.
    pub in_flight_pages: u64,
    /// Blocks of which some shards are filled and others are not.
    pub partial_blocks: u64,
    /// Partial blocks dropped because the rest did not come in time.
    pub partial_blocks_dropped: u64,
    /// Blocks that a lookup, lease or load pins.
    pub pinned_blocks: u64,
    /// Reservations that found no room.
    pub no_space: u64,
    /// Slabs moved from one page size to another.
    pub slabs_moved: u64,
}

/// The pool's part of a snapshot.
#[derive(Debug, Clone)]
pub struct PoolSnapshot {
    /// What the pool's file lies on.
    pub kind: PoolKind,
    /// The pool's file; None for anonymous memory.
    pub path: Option<PathBuf>,
    /// Bytes of the whole pool.
    pub bytes: u64,
    /// Bytes that can hold pages by now.
    pub ready_bytes: u64,
    /// Bytes of pages that hold something.
    pub used_bytes: u64,
    /// Bytes of a slab: the largest page.
    pub slab_bytes: u64,
    /// Why the pool is not what was asked for, if it is not.
    pub degraded: Option<String>,
}

impl Default for PoolSnapshot {
    fn default() -> Self {
        Self {
            kind: PoolKind::Memfd,
            path: None,
            bytes: 0,
            ready_bytes: 0,
            used_bytes: 0,
            slab_bytes: 0,
            degraded: None,
        }
    }
}

/// One space's part of a snapshot.
#[derive(Debug, Clone)]
pub struct SpaceSnapshot {
    /// Namespace and group.
    pub key: SpaceKey,
    /// Visible blocks.
    pub blocks: u64,
    /// Bytes of the pages of visible blocks.
    pub bytes: u64,
    /// Blocks that lookups found.
    pub hits: u64,
    /// Blocks that lookups asked for and did not find.
    pub misses: u64,
    /// Blocks that became visible.
    pub admissions: u64,
    /// Blocks evicted to make room.
    pub evictions: u64,
}
