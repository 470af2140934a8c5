//! Plain numbers for status and metrics.

use std::path::PathBuf;
use std::time::Duration;

use crate::eviction::PolicyKind;
use crate::pool::PoolKind;
use crate::space::SpaceKey;
use crate::sync::Ordering;

use super::space::Space;
use super::ssd::Tier;
use super::{Store, TakeOver, TierSnapshot, Verify};

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
    /// Partial blocks dropped because the rest did not come in time, or before that to make room.
    pub partial_blocks_dropped: u64,
    /// Blocks that a lookup, lease or load pins.
    pub pinned_blocks: u64,
    /// Reservations that found no room.
    pub no_space: u64,
    /// Bytes that index and policies take beside the pool.
    pub metadata_bytes: u64,
    /// Checksums of pages.
    pub checksums: ChecksumSnapshot,
    /// The ssd tier, if there is one.
    pub tier: Option<TierSnapshot>,
    /// What the open took over from an ended daemon; None for a new pool.
    pub taken_over: Option<TakeOver>,
}

/// What became of checksums since the open.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChecksumSnapshot {
    /// When pages are compared with their checksums.
    pub verify: Verify,
    /// Sealed pages whose checksum is still to be made.
    pub pending_pages: u64,
    /// Pages whose checksum was made.
    pub made: u64,
    /// Pages that loads compared.
    pub verified_pages: u64,
    /// Their bytes.
    pub verified_bytes: u64,
    /// The time that loads took for that.
    pub verify_time: Duration,
    /// Pages that were compared in the background.
    pub scrubbed_pages: u64,
    /// How often the background came to the end of the pool.
    pub scrub_rounds: u64,
    /// Blocks dropped because a page was not what was saved.
    pub corrupt_blocks: u64,
}

/// The pool's part of a snapshot.
#[derive(Debug, Clone, Default)]
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
    /// Bytes of the largest contiguous part that belongs to no page size.
    pub largest_free_bytes: u64,
    /// Bytes of a slab: the largest page.
    pub slab_bytes: u64,
    /// Slabs moved from one page size to another.
    pub slabs_moved: u64,
    /// Whether more memory is on its way.
    pub is_growing: bool,
    /// Why the pool is anonymous memory, if it is.
    pub fallback: Option<String>,
    /// Why the pool stays smaller than it should be, if it does.
    pub degraded: Option<String>,
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
    /// Blocks evicted, to make room or on request.
    pub evictions: u64,
}

impl Store {
    /// The pool's part of a snapshot, which does not grow with the number of spaces.
    pub fn pool_snapshot(&self) -> PoolSnapshot {
        let state = self.pool.state();
        PoolSnapshot {
            kind: self.pool.kind(),
            path: self.pool.path().map(Into::into),
            bytes: state.bytes,
            ready_bytes: state.ready_bytes,
            used_bytes: state.used_bytes,
            largest_free_bytes: state.largest_free_bytes,
            slab_bytes: self.pool.slab_bytes(),
            slabs_moved: state.slabs_moved,
            is_growing: state.is_growing,
            fallback: self.pool.fallback().map(Into::into),
            degraded: state.problem,
        }
    }

    /// Counts for status and metrics.
    pub fn snapshot(&self) -> StoreSnapshot {
        let spaces = self.spaces.all();
        let policy_bytes: usize = spaces
            .iter()
            .flatten()
            .map(|space| space.policy.lock().memory_bytes())
            .sum();
        StoreSnapshot {
            pool: self.pool_snapshot(),
            policy: self.policy,
            spaces: self.space_snapshots(),
            in_flight_pages: self.counts.in_flight_pages.load(Ordering::Relaxed),
            partial_blocks: self.index.partial_blocks() as u64,
            partial_blocks_dropped: self.counts.partial_blocks_dropped.load(Ordering::Relaxed),
            pinned_blocks: self.counts.pinned_blocks.load(Ordering::Relaxed),
            no_space: self.counts.no_space.load(Ordering::Relaxed),
            metadata_bytes: (self.index.memory_bytes() + policy_bytes) as u64,
            checksums: self.checksum_snapshot(),
            tier: self.tier_snapshot(),
            taken_over: self.taken_over.get().copied(),
        }
    }

    /// The ssd tier's part of a snapshot; None without one.
    pub fn tier_snapshot(&self) -> Option<TierSnapshot> {
        self.tier.get().map(Tier::snapshot)
    }

    /// Each space's part of a snapshot.
    pub(super) fn space_snapshots(&self) -> Vec<SpaceSnapshot> {
        let spaces = self.spaces.all();
        spaces
            .iter()
            .flatten()
            .map(|space| space_snapshot(space))
            .collect()
    }

    fn checksum_snapshot(&self) -> ChecksumSnapshot {
        let counts = &self.counts;
        ChecksumSnapshot {
            verify: self.verify,
            pending_pages: self.inspector.pending(),
            made: counts.checksums_made.load(Ordering::Relaxed),
            verified_pages: counts.verified.pages.load(Ordering::Relaxed),
            verified_bytes: counts.verified.bytes.load(Ordering::Relaxed),
            verify_time: Duration::from_nanos(counts.verified.nanoseconds.load(Ordering::Relaxed)),
            scrubbed_pages: counts.scrubbed_pages.load(Ordering::Relaxed),
            scrub_rounds: counts.scrub_rounds.load(Ordering::Relaxed),
            corrupt_blocks: counts.corrupt_blocks.load(Ordering::Relaxed),
        }
    }
}

fn space_snapshot(space: &Space) -> SpaceSnapshot {
    let counts = &space.counts;
    let blocks = counts.blocks.load(Ordering::Relaxed);
    SpaceSnapshot {
        key: space.key,
        blocks,
        bytes: blocks * space.block_bytes,
        hits: counts.hits.load(Ordering::Relaxed),
        misses: counts.misses.load(Ordering::Relaxed),
        admissions: counts.admissions.load(Ordering::Relaxed),
        evictions: counts.evictions.load(Ordering::Relaxed),
    }
}
