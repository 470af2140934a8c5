//! A cache of some blocks under one policy.

use super::requests::{Request, Requests};
use crate::eviction::{EvictionPolicy, Kept, PolicyKind, Predecessor, Token};
use crate::index::BlockId;

/// Hits of a cache of so many blocks under this policy; blocks of all prefixes that it had.
pub fn policy(requests: &Requests, kind: PolicyKind, capacity: usize) -> u64 {
    let mut cache = SimulatedCache::new(kind, capacity, requests.distinct_blocks());
    requests.iter().map(|request| cache.serve(request) as u64).sum()
}

/// The token of a block that is not cached.
const ABSENT: u32 = u32::MAX;

/// A cache that has no bytes, only a policy.
#[derive(Debug)]
pub struct SimulatedCache {
    policy: Box<dyn EvictionPolicy>,
    capacity: usize,
    /// By block: of large traces there are many.
    tokens: Vec<u32>,
    hits: Vec<Token>,
    misses: Vec<u32>,
}

impl SimulatedCache {
    /// An empty cache of so many blocks; the requests to come have blocks below `distinct_blocks`.
    pub fn new(kind: PolicyKind, capacity: usize, distinct_blocks: usize) -> Self {
        Self {
            policy: kind.build(),
            capacity,
            tokens: vec![ABSENT; distinct_blocks],
            hits: Vec::new(),
            misses: Vec::new(),
        }
    }

    /// The blocks of the request that were hit; all of them are cached afterwards, as far as they fit.
    pub fn serve(&mut self, request: Request<'_>) -> usize {
        let hits = self.ask(request);
        let (found, others) = request.blocks.split_at(hits);
        self.save(request.time_us, found.last().copied(), others);
        hits
    }

    /// Caches blocks that follow each other, and the first of them `after`, as far as they fit; also those that nobody asked
    /// for: an answer's.
    pub fn save(&mut self, time_us: u64, mut after: Option<u32>, blocks: &[u32]) {
        for block in blocks {
            let fingerprint = fingerprint(*block);
            let predecessor = after.replace(*block).map(|after| self.predecessor(after));
            if let Some(token) = cached(&self.tokens, *block) {
                self.policy.present(token, fingerprint, predecessor, time_us);
            } else if let Some(place) = self.tokens.get_mut(*block as usize) {
                let id = BlockId(*block);
                *place = self.policy.insert(id, fingerprint, predecessor, time_us).0;
            }
        }
        self.shrink();
    }

    fn predecessor(&self, block: u32) -> Predecessor {
        Predecessor {
            fingerprint: fingerprint(block),
            kept: cached(&self.tokens, block).map(|token| Kept {
                token,
                block: BlockId(block),
            }),
        }
    }

    /// The blocks of the request that are cached, of its first ones.
    fn ask(&mut self, request: Request<'_>) -> usize {
        self.hits.clear();
        let tokens = &self.tokens;
        self.hits
            .extend(request.blocks.iter().map_while(|block| cached(tokens, *block)));
        self.misses.clear();
        let others = request.blocks.iter().skip(self.hits.len());
        self.misses.extend(others.map(|block| fingerprint(*block)));
        self.policy.request(&self.hits, &self.misses, request.time_us);
        self.hits.len()
    }

    /// Whether the block is cached.
    pub fn has(&self, block: u32) -> bool {
        cached(&self.tokens, block).is_some()
    }

    /// Bytes that the policy has allocated.
    pub fn policy_bytes(&self) -> usize {
        self.policy.memory_bytes()
    }

    fn shrink(&mut self) {
        while self.policy.len() > self.capacity {
            let Some(BlockId(block)) = self.policy.victim() else {
                return;
            };
            if let Some(token) = cached(&self.tokens, block) {
                self.policy.remove(token, fingerprint(block));
            }
            if let Some(place) = self.tokens.get_mut(block as usize) {
                *place = ABSENT;
            }
        }
    }
}

/// The token of a block, if it is cached.
fn cached(tokens: &[u32], block: u32) -> Option<Token> {
    let token = *tokens.get(block as usize)?;
    (token != ABSENT).then_some(Token(token))
}

/// Stands in for the index's hash of a block key: different for each block.
pub(crate) fn fingerprint(block: u32) -> u32 {
    let mut mixed = block;
    for multiplier in [0x85eb_ca6b, 0xc2b2_ae35] {
        mixed = (mixed ^ mixed >> 16).wrapping_mul(multiplier);
    }
    mixed ^ mixed >> 16
}
