//! Evicting on request, instead of because room is needed.

use std::cell::Cell;

use super::Store;
use super::reclaim::Reclaimed;
use super::space::Space;
use crate::demand::Departure;
use crate::error::{Error, ErrorKind, Result};
use crate::index::BlockId;
use crate::progress::Progress;
use crate::sync::{Arc, Ordering};

/// Victims in one turn: saves that need room come in between.
pub(super) const VICTIMS_PER_TURN: usize = 256;

/// What an eviction on request did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Evicted {
    /// Blocks that went.
    pub blocks: u64,
    /// Bytes of memory that they took.
    pub bytes: u64,
    /// Blocks that were to go and stay: in use, or pinned.
    pub kept_blocks: u64,
    /// Bytes of their pages.
    pub kept_bytes: u64,
}

impl Store {
    /// Evicts at least this many bytes from memory, the coldest blocks first; None: all that can go.
    ///
    /// Blocks in use and blocks of pinned namespaces stay. What is cancelled stops at what it has reached.
    ///
    /// # Errors
    /// None so far: what cannot go is counted.
    pub fn evict_memory(&self, bytes: Option<u64>, progress: &Progress) -> Result<Evicted> {
        let may_go = |space: &Space| !space.namespace.is_pinned();
        progress.expect(0, bytes.unwrap_or_else(|| self.pool.state().used_bytes));
        Ok(self.evict_until(bytes.unwrap_or(u64::MAX), |_| true, may_go, |_, _| true, progress))
    }

    /// Evicts from memory what is on ssd too, apart from blocks in use and those of pinned namespaces.
    ///
    /// # Errors
    /// `NotFound` without an ssd tier.
    pub fn evict_copied(&self, progress: &Progress) -> Result<Evicted> {
        self.tier()?;
        let may_go = |space: &Space| !space.namespace.is_pinned();
        let is_copied = |space: &Space, block| self.is_on_ssd(space, block);
        progress.expect(0, self.pool.state().used_bytes);
        Ok(self.evict_until(u64::MAX, |_| true, may_go, is_copied, progress))
    }

    /// Evicts all blocks of a namespace from memory, also of a pinned one; blocks in use stay.
    ///
    /// # Errors
    /// `NotFound` for a namespace that the memory tier does not know.
    pub fn evict_namespace(&self, namespace: &[u8; 32], progress: &Progress) -> Result<Evicted> {
        let known = self
            .spaces
            .namespaces()
            .into_iter()
            .find(|known| known.key == *namespace);
        let known = known.ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                "the memory tier does not know this namespace: see pegaflow namespace list",
            )
        })?;
        progress.expect(0, known.used_bytes());
        let is_its_own = |space: &Space| Arc::ptr_eq(&space.namespace, &known);
        Ok(self.evict_until(u64::MAX, is_its_own, is_its_own, |_, _| true, progress))
    }

    /// Evicts what may go until so many bytes are free; what is left of what was meant is counted.
    fn evict_until(
        &self,
        bytes: u64,
        is_meant: impl Fn(&Space) -> bool,
        may_go: impl Fn(&Space) -> bool,
        may_block_go: impl Fn(&Space, BlockId) -> bool,
        progress: &Progress,
    ) -> Evicted {
        let (blocks_gone, bytes_gone) = (Cell::new(0), Cell::new(0));
        let is_over = || bytes_gone.get() >= bytes || progress.is_cancelled();
        // Four proposals a block are all of them, and some more come up meanwhile.
        let patience = |space: &Space| {
            let kept = space.counts.kept.load(Ordering::Relaxed) as usize;
            if may_go(space) {
                4 * kept + VICTIMS_PER_TURN
            } else {
                0
            }
        };
        let evict = |space: &Space, block| {
            let gone = may_block_go(space, block)
                .then(|| self.evict(block, Departure::Request))
                .flatten();
            if let Some(bytes) = gone {
                blocks_gone.set(blocks_gone.get() + 1);
                bytes_gone.set(bytes_gone.get() + bytes);
                progress.advance(1, bytes);
            }
            gone.is_some()
        };
        loop {
            let _turn = self.reclaim_turn.lock();
            let reclaimed = self.reclaim(VICTIMS_PER_TURN, is_over, patience, evict);
            if reclaimed != Reclaimed::Some {
                break;
            }
        }
        let mut evicted = Evicted {
            blocks: blocks_gone.get(),
            bytes: bytes_gone.get(),
            ..Evicted::default()
        };
        if evicted.bytes < bytes {
            let spaces = self.spaces.all();
            for space in spaces.iter().flatten().filter(|space| is_meant(space)) {
                let blocks = space.counts.blocks.load(Ordering::Relaxed);
                evicted.kept_blocks += blocks;
                evicted.kept_bytes += blocks * space.block_bytes;
            }
        }
        evicted
    }
}
