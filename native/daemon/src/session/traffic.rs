//! What one engine has moved, and when it was last heard of.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::telemetry::Direction;

/// What the sessions of one engine did since the first of them opened.
#[derive(Debug)]
pub(crate) struct Traffic {
    opened: Instant,
    /// After `opened`.
    last_call_us: AtomicU64,
    saves: EngineTransfers,
    loads: EngineTransfers,
}

/// The saves or the loads of one engine.
#[derive(Debug, Default)]
pub(crate) struct EngineTransfers {
    transfers: AtomicU64,
    failures: AtomicU64,
    blocks: AtomicU64,
    bytes: AtomicU64,
}

/// Plain numbers of one engine's saves or loads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct TransferCounts {
    pub(crate) transfers: u64,
    pub(crate) failures: u64,
    pub(crate) blocks: u64,
    pub(crate) bytes: u64,
}

impl Traffic {
    /// Nothing so far.
    pub(crate) fn new() -> Self {
        Self {
            opened: Instant::now(),
            last_call_us: AtomicU64::new(0),
            saves: EngineTransfers::default(),
            loads: EngineTransfers::default(),
        }
    }

    /// Its saves or its loads.
    pub(crate) fn of(&self, direction: Direction) -> &EngineTransfers {
        match direction {
            Direction::Save => &self.saves,
            Direction::Load => &self.loads,
        }
    }

    /// One of its sessions called.
    pub(super) fn note_call(&self) {
        let now = self.opened.elapsed().as_micros() as u64;
        self.last_call_us.fetch_max(now, Relaxed);
    }

    /// The time since a session of it opened or called last.
    pub(super) fn quiet_for(&self) -> Duration {
        let last = Duration::from_micros(self.last_call_us.load(Relaxed));
        self.opened.elapsed().saturating_sub(last)
    }
}

impl EngineTransfers {
    /// One ended well.
    pub(crate) fn succeed(&self, blocks: u64, bytes: u64) {
        self.transfers.fetch_add(1, Relaxed);
        self.blocks.fetch_add(blocks, Relaxed);
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// One failed.
    pub(crate) fn fail(&self) {
        self.failures.fetch_add(1, Relaxed);
    }

    pub(super) fn counts(&self) -> TransferCounts {
        TransferCounts {
            transfers: self.transfers.load(Relaxed),
            failures: self.failures.load(Relaxed),
            blocks: self.blocks.load(Relaxed),
            bytes: self.bytes.load(Relaxed),
        }
    }
}

impl TransferCounts {
    /// Adds those of another engine.
    pub(crate) fn add(&mut self, more: &Self) {
        self.transfers += more.transfers;
        self.failures += more.failures;
        self.blocks += more.blocks;
        self.bytes += more.bytes;
    }
}
