//! Plain numbers for status and metrics.

use super::Tier;
use crate::ssd::{SsdRate, SsdSnapshot};
use crate::sync::Ordering;

/// The ssd tier at one time; the counters count from the open on.
#[derive(Debug, Clone, Default)]
pub struct TierSnapshot {
    /// The disks.
    pub ssd: SsdSnapshot,
    /// How fast they are.
    pub rate: SsdRate,
    /// Blocks on their way to lookups.
    pub fetches: FetchSnapshot,
    /// Blocks on their way to the disks.
    pub writes: WriteSnapshot,
}

/// What became of blocks that lookups found on ssd, and of those that warming did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FetchSnapshot {
    /// Bytes that are being read.
    pub in_flight_bytes: u64,
    /// Blocks that wait for their turn.
    pub queued_blocks: u64,
    /// Their bytes.
    pub queued_bytes: u64,
    /// Blocks that were fetched.
    pub blocks: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Blocks for which the pool had no room.
    pub no_room: u64,
    /// Blocks that an engine was saving just then.
    pub busy: u64,
    /// Blocks that the disk could not give.
    pub failed: u64,
    /// Blocks that were not what was saved.
    pub corrupt: u64,
    /// Blocks that nobody waited for any more.
    pub cancelled: u64,
    /// Blocks not fetched because computing them is faster.
    pub declined: u64,
}

/// What became of blocks that were to be written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteSnapshot {
    /// Blocks that wait for their turn.
    pub queued_blocks: u64,
    /// Bytes that are pinned for writes.
    pub in_flight_bytes: u64,
    /// Blocks that were written.
    pub blocks: u64,
    /// Bytes of their pages.
    pub bytes: u64,
    /// Blocks that were evicted before their turn.
    pub evicted: u64,
    /// Blocks that the disk did not take.
    pub failed: u64,
}

impl Tier {
    /// Counts for status and metrics.
    pub(in crate::store) fn snapshot(&self) -> TierSnapshot {
        let load = self.fetches.load();
        let (fetches, writes) = (&self.fetches.counts, &self.writer.counts);
        let (queued_blocks, in_flight_bytes) = self.writer.load();
        TierSnapshot {
            ssd: self.ssd.snapshot(),
            rate: self.ssd.rate(),
            fetches: FetchSnapshot {
                in_flight_bytes: load.in_flight_bytes,
                queued_blocks: load.queued_blocks,
                queued_bytes: load.queued_bytes,
                blocks: fetches.blocks.load(Ordering::Relaxed),
                bytes: fetches.bytes.load(Ordering::Relaxed),
                no_room: fetches.no_room.load(Ordering::Relaxed),
                busy: fetches.busy.load(Ordering::Relaxed),
                failed: fetches.failed.load(Ordering::Relaxed),
                corrupt: fetches.corrupt.load(Ordering::Relaxed),
                cancelled: fetches.cancelled.load(Ordering::Relaxed),
                declined: fetches.declined.load(Ordering::Relaxed),
            },
            writes: WriteSnapshot {
                queued_blocks,
                in_flight_bytes,
                blocks: writes.written.load(Ordering::Relaxed),
                bytes: writes.written_bytes.load(Ordering::Relaxed),
                evicted: writes.evicted.load(Ordering::Relaxed),
                failed: writes.failed.load(Ordering::Relaxed),
            },
        }
    }
}
