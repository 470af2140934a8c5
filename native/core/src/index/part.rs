//! One part of the index, behind its lock.

use std::collections::HashMap;
use std::mem;
use std::time::{Duration, Instant};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

use super::block::{Block, BlockKey, Claim, Filled, Life, Removed, Stage};
use super::runs::{Runs, Shard};
use crate::arena::Arena;
use crate::eviction::Token;
use crate::pool::Slot;

/// The token of a block that no policy keeps yet.
const NO_TOKEN: Token = Token(u32::MAX);

/// What `claim` says, with the number of the block within its part.
pub(super) type PartClaim = Result<u32, Claim>;

#[derive(Debug, Default)]
pub(super) struct Part {
    table: HashTable<u32>,
    blocks: Arena<Block>,
    runs: Runs,
    /// Blocks with some shards filled and others not, since when.
    partial: HashMap<u32, Instant>,
}

impl Part {
    /// The number of a block, and the block.
    pub(super) fn find(&mut self, hash: u64, key: &BlockKey) -> Option<(u32, &mut Block)> {
        let blocks = &self.blocks;
        let number = *self.table.find(hash, |number| {
            blocks.get(*number).is_some_and(|block| block.key == *key)
        })?;
        Some((number, self.blocks.get_mut(number)?))
    }

    /// The number of a block that a policy keeps, and its token.
    pub(super) fn kept(&mut self, hash: u64, key: &BlockKey) -> Option<(u32, Token)> {
        let (number, block) = self.find(hash, key)?;
        (block.token != NO_TOKEN).then_some((number, block.token))
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Block> {
        self.blocks.get_mut(number)
    }

    /// Claims a shard for the caller to fill; makes the block if it is not there.
    pub(super) fn claim(
        &mut self,
        hash: u64,
        key: BlockKey,
        shards: u16,
        shard: u16,
        rehash: impl Fn(&BlockKey) -> u64,
    ) -> PartClaim {
        let blocks = &self.blocks;
        let is_key = |number: &u32| blocks.get(*number).is_some_and(|block| block.key == key);
        let hash_of = |number: &u32| blocks.get(*number).map_or(0, |block| rehash(&block.key));
        let number = match self.table.entry(hash, is_key, hash_of) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(entry) => {
                let run = self.runs.insert(shards);
                let block = Block {
                    key,
                    shards,
                    filled: 0,
                    stage: Stage::Partial,
                    is_inspected: false,
                    run,
                    pins: 0,
                    token: NO_TOKEN,
                    life: Life::default(),
                };
                *entry.insert(self.blocks.insert(block)).get()
            }
        };
        let run = self.blocks.get(number).map_or(u32::MAX, |block| block.run);
        match self.runs.get(run, shard) {
            Some(Shard::Filled(_)) => Err(Claim::Present),
            Some(Shard::Claimed) => Err(Claim::InFlight),
            Some(Shard::Empty) | None => {
                self.runs.set(run, shard, Shard::Claimed);
                Ok(number)
            }
        }
    }

    /// A claimed shard is filled.
    pub(super) fn fill(&mut self, number: u32, shard: u16, slot: Slot, now: Instant) -> Option<Filled> {
        let block = self.blocks.get_mut(number)?;
        self.runs.set(block.run, shard, Shard::Filled(slot));
        block.filled += 1;
        let is_first = block.filled == 1;
        if block.filled < block.shards {
            self.partial.entry(number).or_insert(now);
            return Some(Filled {
                is_first,
                whole: None,
            });
        }
        self.partial.remove(&number);
        Some(Filled {
            is_first,
            whole: Some(self.slots(number)),
        })
    }

    /// Whether a block can be taken out: a policy keeps it, nobody pins it, and nobody is about to fill or publish it.
    pub(super) fn is_evictable(&self, number: u32) -> bool {
        self.blocks.get(number).is_some_and(|block| {
            let is_idle = || {
                self.runs
                    .iter(block.run, block.shards)
                    .all(|shard| shard != Shard::Claimed)
            };
            let is_kept = block.token != NO_TOKEN && block.pins == 0 && !block.is_inspected;
            let is_whole = block.stage == Stage::Visible;
            is_kept && (is_whole || block.filled < block.shards && is_idle())
        })
    }

    /// A claimed shard is given up; the block goes with its last shard.
    pub(super) fn abandon(&mut self, hash_of: impl Fn(&BlockKey) -> u64, number: u32, shard: u16) {
        let Some(block) = self.blocks.get(number) else {
            return;
        };
        self.runs.set(block.run, shard, Shard::Empty);
        let is_unused = self
            .runs
            .iter(block.run, block.shards)
            .all(|shard| shard == Shard::Empty);
        if is_unused {
            self.remove(hash_of, number);
        }
    }

    /// The slot of a filled shard of a block that is not condemned.
    pub(super) fn slot(&self, number: u32, shard: u16) -> Option<Slot> {
        let is_there = |block: &&Block| shard < block.shards && block.stage != Stage::Condemned;
        let block = self.blocks.get(number).filter(is_there)?;
        match self.runs.get(block.run, shard)? {
            Shard::Filled(slot) => Some(slot),
            Shard::Empty | Shard::Claimed => None,
        }
    }

    /// Puts another slot in the place of one, unless somebody may be reading it.
    pub(super) fn relocate(&mut self, number: u32, shard: u16, from: Slot, to: Slot) -> bool {
        let is_unread = |block: &&Block| block.stage == Stage::Visible && block.pins == 0;
        let Some(block) = self.blocks.get(number).filter(is_unread) else {
            return false;
        };
        let is_there = self.runs.get(block.run, shard) == Some(Shard::Filled(from));
        if is_there {
            self.runs.set(block.run, shard, Shard::Filled(to));
        }
        is_there
    }

    /// Takes a block out.
    pub(super) fn remove(&mut self, hash_of: impl Fn(&BlockKey) -> u64, number: u32) -> Option<Removed> {
        let slots = self.slots(number);
        let block = self.blocks.get_mut(number)?;
        let (key, run, shards, stage) = (block.key, block.run, block.shards, block.stage);
        let life = block.life;
        let token = mem::replace(&mut block.token, NO_TOKEN);
        block.stage = Stage::Partial;
        if stage != Stage::Condemned {
            self.forget(hash_of(&key), number);
        }
        self.runs.remove(run, shards);
        self.partial.remove(&number);
        self.blocks.remove(number);
        Some(Removed {
            key,
            token,
            stage,
            life,
            slots,
        })
    }

    /// Makes sure that nothing finds a visible block any more that a policy keeps; whether it was one.
    pub(super) fn condemn(&mut self, hash_of: impl Fn(&BlockKey) -> u64, number: u32) -> bool {
        let visible = self
            .blocks
            .get_mut(number)
            .filter(|block| block.stage == Stage::Visible && block.token != NO_TOKEN);
        let Some(block) = visible else { return false };
        block.stage = Stage::Condemned;
        let hash = hash_of(&block.key);
        self.forget(hash, number);
        true
    }

    /// Takes a condemned block out that nobody uses any more.
    pub(super) fn remove_condemned(&mut self, number: u32) -> Option<Removed> {
        let block = self.blocks.get(number)?;
        let is_over = block.stage == Stage::Condemned && block.pins == 0 && !block.is_inspected;
        if is_over { self.remove(|_| 0, number) } else { None }
    }

    /// The blocks of which some shards are missing.
    pub(super) fn partial(&self) -> Vec<u32> {
        self.partial.keys().copied().collect()
    }

    fn forget(&mut self, hash: u64, number: u32) {
        if let Ok(entry) = self.table.find_entry(hash, |found| *found == number) {
            entry.remove();
        }
    }

    /// Blocks that have been partial for `age` and that can be taken out.
    pub(super) fn stale(&self, now: Instant, age: Duration) -> Vec<u32> {
        let is_old = |since: Instant| now.saturating_duration_since(since) >= age;
        let old = self.partial.iter().filter(|(_, since)| is_old(**since));
        old.map(|(number, _)| *number)
            .filter(|number| self.is_evictable(*number))
            .collect()
    }

    pub(super) fn partial_blocks(&self) -> usize {
        self.partial.len()
    }

    #[cfg(test)]
    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.table.allocation_size() + self.blocks.memory_bytes() + self.runs.memory_bytes()
    }

    /// The slots of the filled shards.
    pub(super) fn slots(&self, number: u32) -> Vec<Slot> {
        let Some(block) = self.blocks.get(number) else {
            return Vec::new();
        };
        let shards = self.runs.iter(block.run, block.shards);
        shards
            .filter_map(|shard| {
                if let Shard::Filled(slot) = shard {
                    Some(slot)
                } else {
                    None
                }
            })
            .collect()
    }
}
