//! Which blocks there are: from a block key to its pages.
//!
//! The index is split into parts by hash, each with a lock of its own, which is never held together with another lock.
//! A block is made by the first claim of one of its shards, is kept by its space's policy from the first filled shard on,
//! and becomes visible when all are filled. It leaves by eviction, whole or partial, when its last claim is given up, or
//! because its bytes are not what was saved.

mod block;
mod part;
mod runs;
#[cfg(test)]
mod tests;

pub(crate) use block::{BlockId, BlockKey, Claim, Filled, Pinned, Removed, Stage, Unpinned};

use std::hash::{BuildHasher, Hasher};
use std::time::{Duration, Instant};

use foldhash::quality::RandomState;

use crate::eviction::{Kept, Tick, Token};
use crate::pool::Slot;
use crate::sync::{Mutex, MutexGuard};
use block::{Block, Life, PART_BITS};
use part::Part;

const PARTS: usize = 1 << PART_BITS;
/// The hash table within a part uses the lowest and the highest bits of a key's hash.
const PART_SHIFT: u32 = 32;

/// All blocks of a store.
#[derive(Debug)]
pub(crate) struct Index {
    parts: [Mutex<Part>; PARTS],
    seed: RandomState,
}

impl Index {
    /// An empty index, with a seed of its own.
    pub(crate) fn new() -> Self {
        Self {
            parts: std::array::from_fn(|_| Mutex::default()),
            seed: RandomState::default(),
        }
    }

    /// What eviction policies know a key by.
    pub(crate) fn fingerprint(&self, key: &BlockKey) -> u32 {
        self.hash(key) as u32
    }

    /// Claims one shard of a block of `shards`.
    pub(crate) fn claim(&self, key: BlockKey, shards: u16, shard: u16) -> Claim {
        let hash = self.hash(&key);
        let (at, mut part) = self.part_of(hash);
        match part.claim(hash, key, shards, shard, |key| self.hash(key)) {
            Ok(number) => Claim::Granted(BlockId::new(at, number)),
            Err(claim) => claim,
        }
    }

    /// A claimed shard is filled. What the answer asks for has to follow.
    pub(crate) fn fill(&self, block: BlockId, shard: u16, slot: Slot, now: Instant) -> Option<Filled> {
        self.part(block)?.fill(block.number(), shard, slot, now)
    }

    /// A policy keeps the block under this token; from now on it can be evicted.
    pub(crate) fn keep(&self, block: BlockId, token: Token) {
        if let Some(mut part) = self.part(block)
            && let Some(block) = part.get_mut(block.number())
        {
            block.token = token;
        }
    }

    /// What a policy calls the block of this key, if one keeps it; it may be gone by the time that the caller looks.
    pub(crate) fn kept(&self, key: &BlockKey) -> Option<Kept> {
        let hash = self.hash(key);
        let (at, mut part) = self.part_of(hash);
        let (number, token) = part.kept(hash, key)?;
        Some(Kept {
            token,
            block: BlockId::new(at, number),
        })
    }

    /// Makes a whole block visible.
    pub(crate) fn publish(&self, block: BlockId, now: Tick) {
        self.publish_and(block, now, |_| {});
    }

    /// The same with a pin, the block's first: nothing takes it out before its publisher has used it.
    pub(crate) fn publish_pinned(&self, block: BlockId, now: Tick) {
        self.publish_and(block, now, |block| block.pins = 1);
    }

    fn publish_and(&self, block: BlockId, now: Tick, and: impl FnOnce(&mut Block)) {
        if let Some(mut part) = self.part(block)
            && let Some(block) = part.get_mut(block.number())
        {
            block.stage = Stage::Visible;
            block.life = Life::begin(now);
            and(block);
        }
    }

    /// A claimed shard is given up.
    pub(crate) fn abandon(&self, block: BlockId, shard: u16) {
        if let Some(mut part) = self.part(block) {
            part.abandon(|key| self.hash(key), block.number(), shard);
        }
    }

    /// Pins a block if it is visible.
    pub(crate) fn pin(&self, key: &BlockKey) -> Option<Pinned> {
        self.pin_and(key, |_| {})
    }

    /// The same for a lookup, which the block remembers.
    pub(crate) fn pin_found(&self, key: &BlockKey) -> Option<Pinned> {
        self.pin_and(key, |block| block.life.find())
    }

    fn pin_and(&self, key: &BlockKey, and: impl FnOnce(&mut Block)) -> Option<Pinned> {
        let hash = self.hash(key);
        let (at, mut part) = self.part_of(hash);
        let is_visible = |(_, block): &(u32, &mut Block)| block.stage == Stage::Visible;
        let (number, block) = part.find(hash, key).filter(is_visible)?;
        block.pins = block.pins.checked_add(1)?;
        and(block);
        Some(Pinned {
            block: BlockId::new(at, number),
            token: block.token,
            is_first: block.pins == 1,
        })
    }

    /// Whether a block is visible.
    pub(crate) fn contains(&self, key: &BlockKey) -> bool {
        let hash = self.hash(key);
        let (_, mut part) = self.part_of(hash);
        part.find(hash, key)
            .is_some_and(|(_, block)| block.stage == Stage::Visible)
    }

    /// Takes one pin back.
    pub(crate) fn unpin(&self, block: BlockId) -> Unpinned {
        self.let_go(block, |block| block.pins = block.pins.saturating_sub(1))
    }

    /// Keeps a visible block from eviction for a look at its pages, of which there is one at a time.
    pub(crate) fn begin_inspection(&self, key: &BlockKey) -> Option<BlockId> {
        let hash = self.hash(key);
        let (at, mut part) = self.part_of(hash);
        let is_free = |(_, block): &(u32, &mut Block)| block.stage == Stage::Visible && !block.is_inspected;
        let (number, block) = part.find(hash, key).filter(is_free)?;
        block.is_inspected = true;
        Some(BlockId::new(at, number))
    }

    /// The look is over.
    pub(crate) fn end_inspection(&self, block: BlockId) -> Unpinned {
        self.let_go(block, |block| block.is_inspected = false)
    }

    fn let_go(&self, id: BlockId, change: impl FnOnce(&mut Block)) -> Unpinned {
        let mut unpinned = Unpinned {
            is_last: false,
            removed: None,
        };
        if let Some(mut part) = self.part(id)
            && let Some(block) = part.get_mut(id.number())
        {
            change(block);
            unpinned.is_last = block.pins == 0;
            unpinned.removed = part.remove_condemned(id.number());
        }
        unpinned
    }

    /// Makes sure that nothing finds a block again that is pinned or inspected; whether it was visible. `leave` as in
    /// `evict`. Who takes the last pin back gets the block.
    ///
    /// A block that no policy keeps yet stays: the thread that has filled its first shard is about to name it to one.
    pub(crate) fn condemn(&self, block: BlockId, leave: impl Fn(Slot)) -> bool {
        let Some(mut part) = self.part(block) else {
            return false;
        };
        let slots = part.slots(block.number());
        let was_visible = part.condemn(|key| self.hash(key), block.number());
        if was_visible {
            slots.into_iter().for_each(leave);
        }
        was_visible
    }

    /// Takes out the blocks of which some shards are missing, when nobody saves: after a take-over.
    pub(crate) fn remove_partial(&self) -> Vec<Removed> {
        let mut all = Vec::new();
        for part in &self.parts {
            let mut part = part.lock();
            for number in part.partial() {
                all.extend(part.remove(|key| self.hash(key), number));
            }
        }
        all
    }

    /// The slot of one shard of a pinned block; None once it is condemned.
    pub(crate) fn slot(&self, block: BlockId, shard: u16) -> Option<Slot> {
        self.part(block)?.slot(block.number(), shard)
    }

    /// Says that a page of a visible block that nobody pins has moved; false when that is not so any more. `leave` as in `evict`.
    pub(crate) fn relocate(
        &self,
        block: BlockId,
        shard: u16,
        from: Slot,
        to: Slot,
        leave: impl Fn(Slot),
    ) -> bool {
        self.part(block).is_some_and(|mut part| {
            let has_moved = part.relocate(block.number(), shard, from, to);
            if has_moved {
                leave(from);
            }
            has_moved
        })
    }

    /// The slots of the filled shards of a block, whose pages may be gone by the time that the caller looks.
    pub(crate) fn slots(&self, block: BlockId) -> Vec<Slot> {
        self.part(block)
            .map_or_else(Vec::new, |part| part.slots(block.number()))
    }

    /// The block of this key if `evict` could take it out now.
    pub(crate) fn evictable(&self, key: &BlockKey) -> Option<BlockId> {
        let hash = self.hash(key);
        let (at, mut part) = self.part_of(hash);
        let (number, _) = part.find(hash, key)?;
        part.is_evictable(number).then(|| BlockId::new(at, number))
    }

    /// Takes a block out unless it is pinned or being saved; `leave` is called for its slots while nobody can save it anew.
    pub(crate) fn evict(&self, block: BlockId, leave: impl Fn(Slot)) -> Option<Removed> {
        let mut part = self.part(block)?;
        if !part.is_evictable(block.number()) {
            return None;
        }
        let removed = part.remove(|key| self.hash(key), block.number())?;
        removed.slots.iter().for_each(|slot| leave(*slot));
        Some(removed)
    }

    /// Takes the blocks out that have been partial for `age` unless they are being saved; `leave` as in `evict`.
    pub(crate) fn remove_stale(&self, now: Instant, age: Duration, leave: impl Fn(Slot)) -> Vec<Removed> {
        let mut all = Vec::new();
        for part in &self.parts {
            let mut part = part.lock();
            for number in part.stale(now, age) {
                let removed = part.remove(|key| self.hash(key), number);
                removed
                    .iter()
                    .flat_map(|removed| &removed.slots)
                    .for_each(|slot| leave(*slot));
                all.extend(removed);
            }
        }
        all
    }

    /// Blocks with some shards filled and others not.
    pub(crate) fn partial_blocks(&self) -> usize {
        self.parts.iter().map(|part| part.lock().partial_blocks()).sum()
    }

    /// Shards of a block that are filled.
    #[cfg(test)]
    pub(crate) fn filled(&self, key: &BlockKey) -> usize {
        let hash = self.hash(key);
        self.part_of(hash)
            .1
            .find(hash, key)
            .map_or(0, |(_, block)| block.filled as usize)
    }

    /// Blocks of any state.
    #[cfg(test)]
    pub(crate) fn blocks(&self) -> usize {
        self.parts.iter().map(|part| part.lock().blocks()).sum()
    }

    /// Bytes allocated.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.parts.iter().map(|part| part.lock().memory_bytes()).sum()
    }

    fn hash(&self, key: &BlockKey) -> u64 {
        let mut hasher = self.seed.build_hasher();
        hasher.write_u16(key.space.0);
        hasher.write(&key.hash);
        hasher.finish()
    }

    fn part_of(&self, hash: u64) -> (usize, MutexGuard<'_, Part>) {
        let at = (hash >> PART_SHIFT) as usize % PARTS;
        #[expect(
            clippy::indexing_slicing,
            reason = "at is below PARTS, the length of the array"
        )]
        (at, self.parts[at].lock())
    }

    fn part(&self, block: BlockId) -> Option<MutexGuard<'_, Part>> {
        Some(self.parts.get(block.part())?.lock())
    }
}
