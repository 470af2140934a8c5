//! How far a long operation has come, and whether anybody still waits for it.

use crate::sync::{AtomicBool, AtomicU64, Ordering};

/// Shared by the one that works and those that watch it.
///
/// Its numbers are for people: each is right, and two of them read at once may be of different moments.
#[derive(Debug, Default)]
pub struct Progress {
    blocks: AtomicU64,
    bytes: AtomicU64,
    blocks_expected: AtomicU64,
    bytes_expected: AtomicU64,
    cancelled: AtomicBool,
}

/// A [`Progress`] at one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProgressSnapshot {
    /// Blocks done.
    pub blocks: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Blocks that there are to do, as far as that is known; 0 until it is.
    pub blocks_expected: u64,
    /// Bytes of them.
    pub bytes_expected: u64,
}

impl Progress {
    /// There is this much to do in all.
    pub fn expect(&self, blocks: u64, bytes: u64) {
        self.blocks_expected.store(blocks, Ordering::Relaxed);
        self.bytes_expected.store(bytes, Ordering::Relaxed);
    }

    /// This much more is done.
    pub fn advance(&self, blocks: u64, bytes: u64) {
        self.blocks.fetch_add(blocks, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Asks the one that works to end early: nobody waits any more.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether to end early.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The numbers now.
    pub fn snapshot(&self) -> ProgressSnapshot {
        ProgressSnapshot {
            blocks: self.blocks.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            blocks_expected: self.blocks_expected.load(Ordering::Relaxed),
            bytes_expected: self.bytes_expected.load(Ordering::Relaxed),
        }
    }
}
