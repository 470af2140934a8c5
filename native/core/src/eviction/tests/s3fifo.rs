//! What is used once does not drive out what is used again.

use crate::eviction::{EvictionPolicy, PolicyKind, Token};
use crate::index::BlockId;

/// A policy whose blocks are their own fingerprints.
struct Cache {
    policy: Box<dyn EvictionPolicy>,
    tokens: Vec<Option<Token>>,
}

impl Cache {
    fn new() -> Self {
        Self {
            policy: PolicyKind::S3Fifo.build(),
            tokens: Vec::new(),
        }
    }

    fn insert(&mut self, block: u32) {
        let at = block as usize;
        self.tokens.resize(self.tokens.len().max(at + 1), None);
        self.tokens[at] = Some(self.policy.insert(BlockId(block), block, None, 0));
    }

    fn touch(&mut self, block: u32) {
        self.policy
            .request(&[self.tokens[block as usize].unwrap()], &[], 0);
    }

    fn evict(&mut self) -> u32 {
        let block = self.policy.victim().unwrap().0;
        let token = self.tokens[block as usize].take().unwrap();
        self.policy.remove(token, block);
        block
    }

    fn has(&self, block: u32) -> bool {
        self.tokens[block as usize].is_some()
    }
}

#[test]
fn a_scan_evicts_itself_and_not_the_blocks_in_use() {
    let mut cache = Cache::new();
    for block in 0..100 {
        cache.insert(block);
        cache.touch(block);
        cache.touch(block);
    }
    for block in 100..10_000 {
        cache.insert(block);
        cache.evict();
    }
    let kept = (0..100).filter(|block| cache.has(*block)).count();
    assert!(kept >= 90, "{kept} of 100 blocks in use survived a scan");
}

#[test]
fn a_block_that_comes_back_soon_is_kept_longer_than_new_ones() {
    let mut cache = Cache::new();
    for block in 0..100 {
        cache.insert(block);
    }
    let gone = cache.evict();
    cache.insert(gone);
    for block in 100..180 {
        cache.insert(block);
        cache.evict();
    }
    assert!(cache.has(gone));
}

#[test]
fn blocks_used_once_go_in_the_order_in_which_they_came() {
    let mut cache = Cache::new();
    for block in 0..100 {
        cache.insert(block);
    }
    let gone: Vec<_> = (0..50).map(|_| cache.evict()).collect();
    assert_eq!(gone, (0..50).collect::<Vec<_>>());
}
