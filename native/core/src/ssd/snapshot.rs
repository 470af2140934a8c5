//! Plain numbers for status and metrics.

use std::path::PathBuf;
use std::time::Duration;

use super::config::IoEngineKind;

/// The state of a tier at one time; the counters count from the open on.
#[derive(Debug, Clone, Default)]
pub struct SsdSnapshot {
    /// Each path, in the order in which they were given.
    pub paths: Vec<SsdPathSnapshot>,
    /// Blocks that can be found.
    pub blocks: u64,
    /// Bytes of their pages, without what pads them.
    pub bytes: u64,
    /// Bytes accepted and not on a disk yet.
    pub queued_write_bytes: u64,
    /// Bytes that reads wait for.
    pub queued_read_bytes: u64,
    /// What may be written in a day; None for no limit.
    pub write_budget: Option<u64>,
    /// What of it is left today (UTC); None for no limit.
    pub write_budget_left: Option<u64>,
    /// Blocks refused, by the reason, in the order of [`Refused::ALL`](super::Refused::ALL).
    pub refused: [u64; 5],
    /// Bytes of memory that index and lists take.
    pub metadata_bytes: u64,
}

/// What can be done with a path.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum PathState {
    /// Everything.
    #[default]
    Online,
    /// Everything, but less well than asked for.
    Degraded {
        /// Why, as a sentence.
        reason: String,
    },
    /// Nothing: its blocks are not found until it comes back.
    Offline {
        /// Why, as a sentence.
        reason: String,
    },
}

impl PathState {
    /// The word for status and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Degraded { .. } => "degraded",
            Self::Offline { .. } => "offline",
        }
    }

    /// Why it is not online.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Online => None,
            Self::Degraded { reason } | Self::Offline { reason } => Some(reason),
        }
    }
}

/// One path's part of a snapshot.
#[derive(Debug, Clone, Default)]
pub struct SsdPathSnapshot {
    /// The directory.
    pub dir: PathBuf,
    /// What can be done with it.
    pub state: PathState,
    /// How bytes get to the disk and back: never `Auto`.
    pub engine: IoEngineKind,
    /// Whether bytes bypass the kernel's cache.
    pub is_direct: bool,
    /// The most bytes that the files may take.
    pub capacity: u64,
    /// Bytes that the files take: never more than the capacity, except while it is made smaller.
    pub used: u64,
    /// Blocks that can be found here, also while the path is offline.
    pub blocks: u64,
    /// Bytes of their pages, without what pads them.
    pub bytes: u64,
    /// Segments, and of them those without blocks.
    pub segments: u64,
    /// Segments without blocks.
    pub free_segments: u64,
    /// Blocks written, those moved included.
    pub written_blocks: u64,
    /// Bytes written, all that is not pages included.
    pub written_bytes: u64,
    /// Blocks written again because they had been read since, when their segment was reclaimed.
    pub kept_blocks: u64,
    /// Blocks that left with their segment.
    pub evicted_blocks: u64,
    /// Blocks read and compared with their checksums.
    pub read_blocks: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Blocks dropped because they were not what was saved.
    pub corrupt_blocks: u64,
    /// Reads that the system failed.
    pub read_errors: u64,
    /// Writes, and waits for their safety, that the system failed.
    pub write_errors: u64,
    /// Time that checksums of reads took.
    pub verify_time: Duration,
    /// How long the disk took for a read, from its begin.
    pub read_latency: LatencyCounts,
    /// How long the disk took for a write, from its begin.
    pub write_latency: LatencyCounts,
    /// What the last open, or return of the path, found.
    pub recovery: Recovery,
}

/// What was found on a path when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recovery {
    /// Blocks that can be found.
    pub blocks: u64,
    /// Segments whose header or journal is damaged otherwise than by an unfinished write.
    pub bad_segments: u64,
    /// How long it took.
    pub duration: Duration,
}

/// Bytes a second while the disks work, measured over the last transfers; 0 before the first.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SsdRate {
    /// Reading, verification included.
    pub read: f64,
    /// Writing.
    pub write: f64,
}

/// The first bucket's upper bound, in nanoseconds; each next one is twice as large, the last has none.
pub const FIRST_LATENCY_BOUND_NS: u64 = 50_000;
/// Buckets of latencies: up to 50 us, 100 us, ... 1.6 s, 3.3 s, and above.
pub const LATENCY_BUCKETS: usize = 18;

/// A histogram of latencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LatencyCounts {
    /// How many were in each bucket, not cumulated.
    pub buckets: [u64; LATENCY_BUCKETS],
    /// The sum of all of them.
    pub sum_ns: u64,
}
