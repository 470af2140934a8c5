//! A cache of the sampled blocks alone, under the policy in use.

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::arena::Arena;
use crate::eviction::{EvictionPolicy, Kept, PolicyKind, Predecessor, Tick, Token};
use crate::index::BlockId;

/// Has the sampled blocks of a pool that is so many times as large as the sample is smaller than all.
#[derive(Debug)]
pub(super) struct Miniature {
    policy: Box<dyn EvictionPolicy>,
    blocks: Arena<Block>,
    /// By fingerprint, where the block is.
    numbers: HashMap<u32, u32, RandomState>,
    bytes: u64,
    capacity_bytes: u64,
    /// Whether a block ever had to go for others.
    has_evicted: bool,
    hits: Vec<Token>,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    fingerprint: u32,
    token: Token,
    bytes: u64,
}

impl Miniature {
    pub(super) fn new(kind: PolicyKind) -> Self {
        Self {
            policy: kind.build(),
            blocks: Arena::default(),
            numbers: HashMap::default(),
            bytes: 0,
            capacity_bytes: 0,
            has_evicted: false,
            hits: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    pub(super) fn has_evicted(&self) -> bool {
        self.has_evicted
    }

    /// How many of a prompt's first blocks it had; all of them are kept afterwards, as far as they fit.
    pub(super) fn serve(&mut self, prompt: &[u32], block_bytes: u64, now: Tick) -> usize {
        self.hits.clear();
        let found = prompt.iter().map_while(|fingerprint| {
            let number = self.numbers.get(fingerprint)?;
            self.blocks.get(*number).map(|block| block.token)
        });
        self.hits.extend(found);
        let (found, misses) = prompt.split_at(self.hits.len());
        self.policy.request(&self.hits, misses, now);
        let mut after = found.last().copied();
        for fingerprint in misses {
            let predecessor = after.replace(*fingerprint).map(|after| self.predecessor(after));
            match self.block(*fingerprint) {
                Some(block) => self.policy.present(block.token, *fingerprint, predecessor, now),
                None => self.insert(*fingerprint, block_bytes, predecessor, now),
            }
        }
        self.shrink();
        self.hits.len()
    }

    /// A block was saved. What it has was asked for just before, or would not have been computed.
    pub(super) fn save(&mut self, fingerprint: u32, block_bytes: u64, after: Option<u32>, now: Tick) {
        if self.block(fingerprint).is_none() {
            let predecessor = after.map(|after| self.predecessor(after));
            self.insert(fingerprint, block_bytes, predecessor, now);
            self.shrink();
        }
    }

    /// Has room for so much.
    pub(super) fn resize(&mut self, capacity_bytes: u64) {
        self.capacity_bytes = capacity_bytes;
        self.shrink();
    }

    /// Keeps blocks of the sample alone, each of which stands for 2^`level` blocks.
    pub(super) fn narrow(&mut self, level: u32) {
        let is_sampled = |fingerprint| super::is_sampled(fingerprint, level);
        // There is room then for what is remembered of the others, until that is forgotten as well.
        self.policy.sample(level, &is_sampled);
        let others = self
            .numbers
            .extract_if(|fingerprint, _| !is_sampled(*fingerprint));
        for (fingerprint, number) in others {
            if let Some(block) = self.blocks.get(number) {
                self.bytes -= block.bytes;
                self.policy.remove(block.token, fingerprint);
                self.blocks.remove(number);
            }
        }
        self.policy.sample(level, &is_sampled);
    }

    fn block(&self, fingerprint: u32) -> Option<Block> {
        self.blocks.get(*self.numbers.get(&fingerprint)?).copied()
    }

    fn predecessor(&self, fingerprint: u32) -> Predecessor {
        let number = self.numbers.get(&fingerprint).copied();
        let kept = number.zip(self.block(fingerprint)).map(|(number, block)| Kept {
            token: block.token,
            block: BlockId(number),
        });
        Predecessor { fingerprint, kept }
    }

    fn insert(&mut self, fingerprint: u32, bytes: u64, after: Option<Predecessor>, now: Tick) {
        let token = Token(u32::MAX);
        let number = self.blocks.insert(Block {
            fingerprint,
            token,
            bytes,
        });
        let token = self.policy.insert(BlockId(number), fingerprint, after, now);
        if let Some(block) = self.blocks.get_mut(number) {
            block.token = token;
        }
        self.numbers.insert(fingerprint, number);
        self.bytes += bytes;
    }

    fn shrink(&mut self) {
        while self.bytes > self.capacity_bytes {
            let Some(BlockId(number)) = self.policy.victim() else {
                return;
            };
            self.has_evicted = true;
            if let Some(block) = self.blocks.get(number).copied() {
                self.bytes -= block.bytes;
                self.policy.remove(block.token, block.fingerprint);
                self.numbers.remove(&block.fingerprint);
                self.blocks.remove(number);
            }
        }
    }
}
