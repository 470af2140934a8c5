//! The longest cached prefix of a list of hashes, pinned.

use std::mem;
use std::time::Duration;

use super::Store;
use super::space::Space;
use crate::demand::{MissReason, Missed};
use crate::error::{Error, ErrorKind, Result};
use crate::eviction::{Tick, Token};
use crate::index::{self, BlockId, BlockKey};
use crate::pool::PagePtr;
use crate::space::SpaceId;
use crate::sync::{Arc, Ordering};

/// Cached blocks that stay where they are while this, or a clone of it, lives.
#[derive(Debug, Clone)]
pub struct Hits {
    pub(super) pins: Arc<Pins>,
}

/// One pin on each block, taken back when dropped.
#[derive(Debug)]
pub(super) struct Pins {
    pub(super) store: Arc<Store>,
    pub(super) space: Arc<Space>,
    pub(super) blocks: Vec<BlockId>,
}

impl Hits {
    /// A block with a pin that was counted.
    pub(super) fn of_one(store: &Arc<Store>, space: &Arc<Space>, block: BlockId) -> Self {
        let pins = Pins {
            store: Arc::clone(store),
            space: Arc::clone(space),
            blocks: vec![block],
        };
        Self { pins: Arc::new(pins) }
    }

    /// Blocks from the first hash on.
    pub fn len(&self) -> usize {
        self.pins.blocks.len()
    }

    /// Whether the first hash was a miss.
    pub fn is_empty(&self) -> bool {
        self.pins.blocks.is_empty()
    }

    /// The space of these blocks.
    pub fn space(&self) -> SpaceId {
        self.pins.space.id
    }

    /// Bytes of all pages of these blocks.
    pub fn bytes(&self) -> u64 {
        self.len() as u64 * self.pins.space.block_bytes
    }

    /// The page of one shard of the block at `index`; None outside of the hits or shards, and for a block that is corrupt.
    pub fn page(&self, index: usize, shard: u32) -> Option<PagePtr> {
        let pins = &*self.pins;
        let pages = pins.space.shards.get(shard as usize)?;
        let slot = pins
            .store
            .index
            .slot(*pins.blocks.get(index)?, u16::try_from(shard).ok()?)?;
        pins.store.pool.page(slot, pages.stride, pages.page_bytes)
    }
}

impl Drop for Pins {
    fn drop(&mut self) {
        self.store.unpin(self.blocks.iter().copied());
    }
}

/// The blocks from the first hash on, of which some are pinned, and the others on their way.
#[derive(Debug)]
pub(super) struct Prefix {
    store: Arc<Store>,
    space: Arc<Space>,
    /// Of all hashes that were asked for.
    fingerprints: Vec<u32>,
    parts: Vec<Option<Pinned>>,
    /// Blocks that are cached nowhere, or behind one that is not.
    missed: Box<Missed>,
}

/// A pin, and the block's place in the eviction order.
#[derive(Debug, Clone, Copy)]
struct Pinned {
    block: BlockId,
    token: Token,
}

impl Prefix {
    pub(super) fn len(&self) -> usize {
        self.parts.len()
    }

    pub(super) fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// All of it, which leaves an empty one.
    pub(super) fn take(&mut self) -> Self {
        Self {
            store: Arc::clone(&self.store),
            space: Arc::clone(&self.space),
            fingerprints: mem::take(&mut self.fingerprints),
            parts: mem::take(&mut self.parts),
            missed: mem::take(&mut self.missed),
        }
    }

    /// Pins a block that was on its way; whether it could be found.
    pub(super) fn pin(&mut self, number: usize, key: &BlockKey) -> bool {
        let pinned = self.store.pin_found(key);
        if let Some(part) = self.parts.get_mut(number) {
            *part = pinned;
        }
        pinned.is_some()
    }

    /// Lets go of all blocks from this number on.
    pub(super) fn truncate(&mut self, number: usize) {
        if number < self.parts.len() {
            let behind = self.parts.split_off(number);
            self.store.unpin(pinned_blocks(&behind));
        }
    }

    /// The blocks before the first that is on its way: what was found, and is counted and touched as such. What else is cached
    /// is missed because of `otherwise`.
    pub(super) fn into_hits(mut self, otherwise: MissReason) -> Hits {
        let present = self.parts.iter().take_while(|part| part.is_some()).count();
        self.truncate(present);
        let parts = mem::take(&mut self.parts);
        let (found, wanted) = (parts.len() as u64, self.fingerprints.len() as u64);
        let counts = &self.space.counts;
        counts.hits.fetch_add(found, Ordering::Relaxed);
        counts.misses.fetch_add(wanted - found, Ordering::Relaxed);
        let mut missed = *self.missed;
        missed.add(otherwise, (wanted - found).saturating_sub(missed.total()));
        let now = self.store.tick();
        self.store
            .use_prefix(&self.space, &parts, &self.fingerprints, now);
        let what_if = &self.store.what_if;
        what_if.asked(&self.fingerprints, self.space.block_bytes, now);
        let now = Duration::from_micros(now);
        self.store.demand.see(&self.fingerprints, &missed, now);
        Hits {
            pins: Arc::new(Pins {
                store: Arc::clone(&self.store),
                space: Arc::clone(&self.space),
                blocks: pinned_blocks(&parts).collect(),
            }),
        }
    }
}

impl Drop for Prefix {
    fn drop(&mut self) {
        self.truncate(0);
    }
}

fn pinned_blocks(parts: &[Option<Pinned>]) -> impl Iterator<Item = BlockId> {
    parts.iter().flatten().map(|pinned| pinned.block)
}

impl Store {
    /// The longest prefix of these packed hashes whose blocks are in the pool, pinned.
    ///
    /// # Errors
    /// `Invalid` when the bytes are not a whole number of the space's hashes.
    pub fn lookup(self: &Arc<Self>, space: SpaceId, hashes: &[u8]) -> Result<Hits> {
        let prefix = self.pin_prefix(space, hashes, |_, _, _| None)?;
        Ok(prefix.into_hits(MissReason::Unfetched))
    }

    /// Pins each block until one is neither in the pool nor, as `is_elsewhere` says by its number, on its way from elsewhere.
    pub(super) fn pin_prefix(
        self: &Arc<Self>,
        space: SpaceId,
        hashes: &[u8],
        mut is_elsewhere: impl FnMut(&Space, BlockKey, usize) -> Option<()>,
    ) -> Result<Prefix> {
        let space = self.spaces.get(space)?;
        let hash_bytes = space.geometry.hash_bytes as usize;
        if !hashes.len().is_multiple_of(hash_bytes) {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "{} bytes are not a whole number of hashes of {hash_bytes} bytes",
                    hashes.len()
                ),
            ));
        }
        let wanted = hashes.len() / hash_bytes;
        let mut prefix = Prefix {
            store: Arc::clone(self),
            space: Arc::clone(&space),
            fingerprints: hashes
                .chunks_exact(hash_bytes)
                .map(|hash| self.index.fingerprint(&BlockKey::new(space.id, hash)))
                .collect(),
            parts: Vec::with_capacity(wanted),
            missed: Box::default(),
        };
        for hash in hashes.chunks_exact(hash_bytes) {
            let key = BlockKey::new(space.id, hash);
            let pinned = self.pin_found(&key);
            if pinned.is_none() && is_elsewhere(&space, key, prefix.len()).is_none() {
                break;
            }
            prefix.parts.push(pinned);
        }
        let rest = hashes.chunks_exact(hash_bytes).skip(prefix.len());
        let unknown = prefix.fingerprints.get(prefix.len()..).unwrap_or_default();
        *prefix.missed = self.why_missed(&space, rest, unknown);
        Ok(prefix)
    }

    fn pin_found(&self, key: &BlockKey) -> Option<Pinned> {
        Some(self.count_pin(self.index.pin_found(key)?))
    }

    fn pin(&self, key: &BlockKey) -> Option<Pinned> {
        Some(self.count_pin(self.index.pin(key)?))
    }

    fn count_pin(&self, pinned: index::Pinned) -> Pinned {
        if pinned.is_first {
            self.counts.pinned_blocks.fetch_add(1, Ordering::Relaxed);
        }
        Pinned {
            block: pinned.block,
            token: pinned.token,
        }
    }

    /// One visible block, pinned; nobody looked it up.
    pub(super) fn pin_one(self: &Arc<Self>, space: &Arc<Space>, key: &BlockKey) -> Option<Hits> {
        self.pin_kept(space, key).map(|(_, hits)| hits)
    }

    /// The same, with what the policy calls the block.
    pub(super) fn pin_kept(self: &Arc<Self>, space: &Arc<Space>, key: &BlockKey) -> Option<(Token, Hits)> {
        let pinned = self.pin(key)?;
        Some((pinned.token, Hits::of_one(self, space, pinned.block)))
    }

    fn unpin(&self, blocks: impl Iterator<Item = BlockId>) {
        let mut last = 0;
        for block in blocks {
            let unpinned = self.index.unpin(block);
            last += u64::from(unpinned.is_last);
            if let Some(removed) = &unpinned.removed {
                self.discard(removed);
            }
        }
        self.counts.pinned_blocks.fetch_sub(last, Ordering::Relaxed);
    }

    /// Tells the policy what of a prompt was found.
    fn use_prefix(&self, space: &Space, found: &[Option<Pinned>], fingerprints: &[u32], now: Tick) {
        let tokens: Vec<_> = found.iter().flatten().map(|pinned| pinned.token).collect();
        let misses = fingerprints.get(tokens.len()..).unwrap_or_default();
        let mut policy = space.policy.lock();
        policy.request(&tokens, misses, now);
    }
}
