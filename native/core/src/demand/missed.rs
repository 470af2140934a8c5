//! Why lookups missed blocks.

use super::Departure;
use crate::sync::{AtomicU64, Ordering};

/// Pools of so many tenths of the pool's size are looked at: what would they have hit that this one missed?
pub const GHOST_FACTORS: [u64; 3] = [15, 20, 40];

const REASONS: usize = Departure::ALL.len() + 4;

/// Why a lookup missed a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissReason {
    /// It never was in the cache, or that is forgotten.
    New,
    /// It left memory, and is on no disk.
    Left(Departure),
    /// It is cached, but a block before it in the prompt is not.
    Behind,
    /// It is on ssd, but to compute it is faster.
    Declined,
    /// It is on ssd, but could not be fetched in time.
    Unfetched,
}

impl MissReason {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::New, Self::Behind, Self::Declined, Self::Unfetched]
            .into_iter()
            .chain(Departure::ALL.map(Self::Left))
    }

    /// The word for metrics and status.
    pub fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Behind => "behind",
            Self::Declined => "declined",
            Self::Unfetched => "unfetched",
            Self::Left(why) => why.name(),
        }
    }

    fn index(self) -> usize {
        match self {
            Self::New => 0,
            Self::Behind => 1,
            Self::Declined => 2,
            Self::Unfetched => 3,
            Self::Left(why) => 4 + why as usize,
        }
    }
}

/// Blocks that were missed, by reason, and how many of them larger pools would have hit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Missed {
    by_reason: [u64; REASONS],
    /// By size of the pool, as [`GHOST_FACTORS`].
    pub ghost_hits: [u64; GHOST_FACTORS.len()],
}

impl Missed {
    /// Blocks that were missed for this reason.
    pub fn of(&self, reason: MissReason) -> u64 {
        self.by_reason.get(reason.index()).copied().unwrap_or(0)
    }

    /// All blocks that were missed.
    pub fn total(&self) -> u64 {
        self.by_reason.iter().sum()
    }

    pub(crate) fn add(&mut self, reason: MissReason, blocks: u64) {
        if let Some(count) = self.by_reason.get_mut(reason.index()) {
            *count += blocks;
        }
    }

    /// A block was missed of which so many bytes more would have kept it in a pool of this size.
    pub(crate) fn add_ghost(&mut self, more_bytes: u64, pool_bytes: u64) {
        for (hits, factor) in self.ghost_hits.iter_mut().zip(GHOST_FACTORS) {
            *hits += u64::from(more_bytes * 10 <= pool_bytes * (factor - 10));
        }
    }
}

/// The sum of all that was missed.
#[derive(Debug, Default)]
pub(super) struct MissedTotals {
    by_reason: [AtomicU64; REASONS],
    ghost_hits: [AtomicU64; GHOST_FACTORS.len()],
}

impl MissedTotals {
    pub(super) fn add(&self, missed: &Missed) {
        let by_reason = self.by_reason.iter().zip(missed.by_reason);
        let ghost_hits = self.ghost_hits.iter().zip(missed.ghost_hits);
        for (total, more) in by_reason.chain(ghost_hits).filter(|(_, more)| *more > 0) {
            total.fetch_add(more, Ordering::Relaxed);
        }
    }

    pub(super) fn load(&self) -> Missed {
        Missed {
            by_reason: self
                .by_reason
                .each_ref()
                .map(|count| count.load(Ordering::Relaxed)),
            ghost_hits: self
                .ghost_hits
                .each_ref()
                .map(|count| count.load(Ordering::Relaxed)),
        }
    }
}
