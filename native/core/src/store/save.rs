//! Saving: one page of one shard of a block.

use std::time::{Duration, Instant};

use super::space::Space;
use super::{Hits, Store};
use crate::error::{Error, ErrorKind, Result};
use crate::eviction::Predecessor;
use crate::index::{BlockId, BlockKey, Claim};
use crate::pool::{PagePtr, Slot, SlotRecord, SlotState};
use crate::space::SpaceId;
use crate::sync::{Arc, Ordering};

/// A block of which some shards are filled waits at most this long for the others; less when room is needed.
pub const PARTIAL_BLOCK_TTL: Duration = Duration::from_secs(300);

/// Whether a reservation may drive other blocks out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Eviction {
    /// If there is no room.
    Allowed,
    /// Never, nor soon after: without room to spare there is none.
    Denied,
}

/// The answer to a reservation.
#[derive(Debug)]
pub enum Reserved {
    /// Fill this page, then seal it.
    Page(PageWriter),
    /// The page is cached already.
    Present,
    /// Another writer has this page.
    InFlight,
    /// No room could be made.
    NoSpace,
}

/// A page to fill; dropped unsealed, it is free again.
///
/// Nothing may write to the page any more when this is sealed or dropped.
#[derive(Debug)]
pub struct PageWriter {
    store: Arc<Store>,
    space: Arc<Space>,
    key: BlockKey,
    /// The block before it in its chain.
    after: Option<BlockKey>,
    block: BlockId,
    shard: u16,
    slot: Slot,
    page: PagePtr,
    is_sealed: bool,
}

impl PageWriter {
    /// Where the bytes go.
    pub fn page(&self) -> PagePtr {
        self.page
    }

    /// All bytes are in place: the block is visible once all its shards are.
    pub fn seal(mut self) {
        let Some(slots) = self.fill() else { return };
        let store = &self.store;
        store.index.publish(self.block, store.tick());
        store.demand.came(store.index.fingerprint(&self.key));
        store.inspector.add(&slots);
    }

    /// The same for bytes that were just compared with their checksum; the block, if no other shard is missing.
    ///
    /// It is pinned from the moment that it is visible, for it may be the only one that can be evicted.
    pub(super) fn seal_verified(mut self, checksum: u128) -> Option<Hits> {
        self.store.pool.slots.set_checksum(self.slot, checksum);
        self.fill()?;
        let store = &self.store;
        store.counts.pinned_blocks.fetch_add(1, Ordering::Relaxed);
        store.index.publish_pinned(self.block, store.tick());
        store.demand.came(store.index.fingerprint(&self.key));
        Some(Hits::of_one(store, &self.space, self.block))
    }

    /// The slots of all shards when this was the last: the block has to be published.
    fn fill(&mut self) -> Option<Vec<Slot>> {
        self.is_sealed = true;
        let store = &self.store;
        store.pool.slots.set_state(self.slot, SlotState::Filled);
        let filled = store
            .index
            .fill(self.block, self.shard, self.slot, Instant::now())?;
        if filled.is_first {
            let (now, fingerprint) = (store.tick(), store.index.fingerprint(&self.key));
            let after = self.after.map(|key| store.predecessor(&key));
            let mut policy = self.space.policy.lock();
            let token = policy.insert(self.block, fingerprint, after, now);
            drop(policy);
            self.space.counts.kept.fetch_add(1, Ordering::Relaxed);
            store.index.keep(self.block, token);
            let after = after.map(|after| after.fingerprint);
            store
                .what_if
                .saved(fingerprint, after, self.space.block_bytes, now);
        }
        let Some(slots) = filled.whole else {
            store.evictor.watch_partial_blocks();
            return None;
        };
        for slot in &slots {
            store.pool.slots.set_state(*slot, SlotState::Sealed);
        }
        self.space.counts.blocks.fetch_add(1, Ordering::Relaxed);
        self.space.counts.admissions.fetch_add(1, Ordering::Relaxed);
        Some(slots)
    }
}

impl Drop for PageWriter {
    fn drop(&mut self) {
        if !self.is_sealed {
            self.store.index.abandon(self.block, self.shard);
            let bytes = self.store.pool.free(self.slot);
            self.space.namespace.give_back(bytes);
        }
        self.store.counts.in_flight_pages.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Store {
    /// A page to save one shard of a block into, unless it is there already.
    ///
    /// `after` is the hash of the block before it in its chain, which may come later; None where it is not known, and for the
    /// first block of a prompt.
    ///
    /// # Errors
    /// `Invalid` for a shard or hash that the space cannot have.
    pub fn reserve(
        self: &Arc<Self>,
        space: SpaceId,
        shard: u32,
        hash: &[u8],
        after: Option<&[u8]>,
    ) -> Result<Reserved> {
        let space = self.spaces.get(space)?;
        let shards = space.shards.len();
        let Some(number) = u16::try_from(shard)
            .ok()
            .filter(|shard| usize::from(*shard) < shards)
        else {
            let message = format!("shard {shard} does not exist: blocks of this namespace have {shards}");
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        let key = space.block_key(hash)?;
        let after = after.map(|hash| space.block_key(hash)).transpose()?;
        let reserved = self.reserve_page(&space, number, key, after, Eviction::Allowed)?;
        // One shard of each block stands for all.
        if number == 0 && matches!(reserved, Reserved::Present) {
            self.use_present(&space, &key, after);
        }
        Ok(reserved)
    }

    /// The same, for a shard and a key that the space has.
    pub(super) fn reserve_page(
        self: &Arc<Self>,
        space: &Arc<Space>,
        shard: u16,
        key: BlockKey,
        after: Option<BlockKey>,
        eviction: Eviction,
    ) -> Result<Reserved> {
        let Some(pages) = space.shards.get(usize::from(shard)).copied() else {
            return Ok(Reserved::NoSpace);
        };
        let block = match self.index.claim(key, space.shards.len() as u16, shard) {
            Claim::Granted(block) => block,
            Claim::Present => return Ok(Reserved::Present),
            Claim::InFlight => return Ok(Reserved::InFlight),
        };
        let has_quota = self.take_quota(space, pages.stride, eviction == Eviction::Allowed);
        let slot = match eviction {
            _ if !has_quota => None,
            Eviction::Allowed => self.allocate(pages.class),
            Eviction::Denied => self.allocate_spare(pages.class),
        };
        let Some(slot) = slot else {
            self.index.abandon(block, shard);
            if has_quota {
                space.namespace.give_back(pages.stride);
            }
            if eviction == Eviction::Allowed {
                self.counts.no_space.fetch_add(1, Ordering::Relaxed);
            }
            return Ok(Reserved::NoSpace);
        };
        let record = SlotRecord {
            state: SlotState::Reserved,
            sequence: self.counts.sequence.fetch_add(1, Ordering::Relaxed),
            page_bytes: pages.page_bytes as u32,
            space: space.id.number.0,
            shard,
            hash: key.hash,
            checksum: None,
            is_unverified: false,
        };
        let written = self.pool.slots.write(slot, &record);
        let page = self.pool.page(slot, pages.stride, pages.page_bytes);
        let (Ok(()), Some(page)) = (written, page) else {
            self.index.abandon(block, shard);
            space.namespace.give_back(self.pool.free(slot));
            return Err(Error::new(
                ErrorKind::Io,
                format!("slot {} is outside of the pool", slot.0),
            ));
        };
        self.counts.in_flight_pages.fetch_add(1, Ordering::Relaxed);
        let writer = PageWriter {
            store: Arc::clone(self),
            space: Arc::clone(space),
            key,
            after,
            block,
            shard,
            slot,
            page,
            is_sealed: false,
        };
        Ok(Reserved::Page(writer))
    }

    /// Tells the policy that an engine has used a block, which it offered to save.
    fn use_present(self: &Arc<Self>, space: &Arc<Space>, key: &BlockKey, after: Option<BlockKey>) {
        if let Some((token, _pin)) = self.pin_kept(space, key) {
            let fingerprint = self.index.fingerprint(key);
            let after = after.map(|key| self.predecessor(&key));
            let mut policy = space.policy.lock();
            policy.present(token, fingerprint, after, self.tick());
        }
    }

    /// The block of this key, as the policy wants to know it that keeps one that follows it.
    fn predecessor(&self, key: &BlockKey) -> Predecessor {
        Predecessor {
            fingerprint: self.index.fingerprint(key),
            kept: self.index.kept(key),
        }
    }

    /// Drops the blocks whose missing shards did not come in [`PARTIAL_BLOCK_TTL`]; how many.
    pub fn drop_stale_partial_blocks(&self, now: Instant) -> usize {
        let leave = |slot| self.pool.slots.set_state(slot, SlotState::Evicting);
        let stale = self.index.remove_stale(now, PARTIAL_BLOCK_TTL, leave);
        for removed in &stale {
            self.discard(removed);
        }
        stale.len()
    }
}
