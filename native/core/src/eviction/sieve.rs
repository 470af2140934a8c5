//! SIEVE: one queue in the order of insertion, and a hand that lets go what was not used since it last came by.
//!
//! After Zhang et al., "SIEVE is simpler than LRU: an efficient turn-key eviction algorithm for web caches" (NSDI 2024).

use super::by_token::ByToken;
use super::queue::{Node, Nodes, Queue};
use super::{EvictionPolicy, Predecessor, Tick, Token};
use crate::index::BlockId;

const UNUSED: u8 = 0;
const USED: u8 = 1;

#[derive(Debug, Default)]
pub(super) struct Sieve {
    nodes: Nodes,
    /// By token: whether the block was used since the hand last came by.
    marks: ByToken<u8>,
    queue: Queue,
    /// The block that the hand looks at next; None: the oldest.
    hand: Option<Token>,
}

impl Sieve {
    fn at_hand(&self) -> Option<Token> {
        self.hand.or_else(|| self.queue.oldest())
    }
}

impl EvictionPolicy for Sieve {
    fn request(&mut self, hits: &[Token], _misses: &[u32], now: Tick) {
        for token in hits {
            if let Some(node) = self.nodes.get_mut(*token) {
                node.set_used(now);
                self.marks.set(*token, USED);
            }
        }
    }

    fn insert(&mut self, block: BlockId, _fingerprint: u32, _after: Option<Predecessor>, now: Tick) -> Token {
        let token = self.nodes.insert(block, now);
        self.marks.set(token, UNUSED);
        self.queue.push(&mut self.nodes, token);
        token
    }

    fn remove(&mut self, token: Token, _fingerprint: u32) {
        if self.hand == Some(token) {
            self.hand = self.queue.younger(&self.nodes, token);
        }
        self.queue.unlink(&mut self.nodes, token);
        self.nodes.remove(token);
    }

    fn victim(&mut self) -> Option<BlockId> {
        loop {
            let token = self.at_hand()?;
            self.hand = self.queue.younger(&self.nodes, token);
            if self.marks.get(token) == UNUSED {
                return Some(self.nodes.get(token)?.block);
            }
            self.marks.set(token, UNUSED);
        }
    }

    fn coldest(&self) -> Option<Tick> {
        Some(self.nodes.get(self.at_hand()?)?.used())
    }

    fn used(&self, token: Token) -> Option<Tick> {
        self.nodes.get(token).map(Node::used)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn memory_bytes(&self) -> usize {
        self.nodes.memory_bytes() + self.marks.memory_bytes()
    }
}
