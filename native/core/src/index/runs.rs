//! The slots of blocks: one word for each shard, a block's words side by side.

use std::collections::HashMap;

use crate::arena::push_exact;
use crate::pool::Slot;

/// What a word says of its shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shard {
    Empty,
    Claimed,
    Filled(Slot),
}

const EMPTY: u32 = u32::MAX;
const CLAIMED: u32 = u32::MAX - 1;

impl Shard {
    fn word(self) -> u32 {
        match self {
            Self::Empty => EMPTY,
            Self::Claimed => CLAIMED,
            Self::Filled(slot) => slot.0,
        }
    }

    fn of(word: u32) -> Self {
        match word {
            EMPTY => Self::Empty,
            CLAIMED => Self::Claimed,
            slot => Self::Filled(Slot(slot)),
        }
    }
}

/// The runs of one part of the index.
#[derive(Debug, Default)]
pub(super) struct Runs {
    words: Vec<u32>,
    /// Starts of free runs by their length.
    free: HashMap<u16, Vec<u32>>,
}

impl Runs {
    /// A run of empty shards; where it begins.
    pub(super) fn insert(&mut self, shards: u16) -> u32 {
        if let Some(start) = self.free.get_mut(&shards).and_then(Vec::pop) {
            return start;
        }
        let start = self.words.len() as u32;
        for _ in 0..shards {
            push_exact(&mut self.words, EMPTY);
        }
        start
    }

    /// Frees a run.
    pub(super) fn remove(&mut self, start: u32, shards: u16) {
        for shard in 0..shards {
            self.set(start, shard, Shard::Empty);
        }
        push_exact(self.free.entry(shards).or_default(), start);
    }

    pub(super) fn get(&self, start: u32, shard: u16) -> Option<Shard> {
        self.words
            .get(start as usize + shard as usize)
            .copied()
            .map(Shard::of)
    }

    pub(super) fn set(&mut self, start: u32, shard: u16, to: Shard) {
        if let Some(word) = self.words.get_mut(start as usize + shard as usize) {
            *word = to.word();
        }
    }

    /// All shards of a run.
    pub(super) fn iter(&self, start: u32, shards: u16) -> impl Iterator<Item = Shard> {
        let words = self.words.iter().skip(start as usize).take(shards as usize);
        words.copied().map(Shard::of)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let free: usize = self.free.values().map(Vec::capacity).sum();
        (self.words.capacity() + free) * size_of::<u32>()
    }
}
