//! The longest cached prefix of a list of hashes, pinned.

use super::Store;
use super::space::Space;
use crate::error::{Error, ErrorKind, Result};
use crate::eviction::Token;
use crate::index::{BlockId, BlockKey};
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
        let mut last = 0;
        for block in &self.blocks {
            let unpinned = self.store.index.unpin(*block);
            last += u64::from(unpinned.is_last);
            unpinned
                .removed
                .iter()
                .for_each(|removed| self.store.discard(removed));
        }
        self.store.counts.pinned_blocks.fetch_sub(last, Ordering::Relaxed);
    }
}

impl Store {
    /// The longest prefix of these packed hashes whose blocks are cached, pinned.
    ///
    /// # Errors
    /// `Invalid` when the bytes are not a whole number of the space's hashes.
    pub fn lookup(self: &Arc<Self>, space: SpaceId, hashes: &[u8]) -> Result<Hits> {
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
        let mut blocks = Vec::with_capacity(wanted);
        let mut tokens = Vec::with_capacity(wanted);
        let mut newly_pinned = 0;
        for hash in hashes.chunks_exact(hash_bytes) {
            let Some(pinned) = self.index.pin(&BlockKey::new(space.id, hash)) else {
                break;
            };
            blocks.push(pinned.block);
            tokens.push(pinned.token);
            newly_pinned += u64::from(pinned.is_first);
        }
        self.counts
            .pinned_blocks
            .fetch_add(newly_pinned, Ordering::Relaxed);
        space
            .counts
            .hits
            .fetch_add(blocks.len() as u64, Ordering::Relaxed);
        space
            .counts
            .misses
            .fetch_add((wanted - blocks.len()) as u64, Ordering::Relaxed);
        self.touch(&space, &tokens);
        Ok(Hits {
            pins: Arc::new(Pins {
                store: Arc::clone(self),
                space,
                blocks,
            }),
        })
    }

    /// Leaf first, so that the blocks that every prefix needs go last.
    fn touch(&self, space: &Space, tokens: &[Token]) {
        if tokens.is_empty() {
            return;
        }
        let now = self.tick();
        let mut policy = space.policy.lock();
        for token in tokens.iter().rev() {
            policy.touch(*token, now);
        }
    }
}
