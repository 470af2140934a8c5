//! The least recently used block goes first.

use super::queue::{Node, Nodes, Queue};
use super::{EvictionPolicy, Predecessor, Tick, Token};
use crate::index::BlockId;

/// One queue in the order of last use.
#[derive(Debug, Default)]
pub(super) struct Lru {
    nodes: Nodes,
    queue: Queue,
}

impl Lru {
    fn rotate(&mut self, token: Token) {
        self.queue.unlink(&mut self.nodes, token);
        self.queue.push(&mut self.nodes, token);
    }
}

impl EvictionPolicy for Lru {
    fn insert(&mut self, block: BlockId, _fingerprint: u32, _after: Option<Predecessor>, now: Tick) -> Token {
        let token = self.nodes.insert(block, now);
        self.queue.push(&mut self.nodes, token);
        token
    }

    fn request(&mut self, hits: &[Token], _misses: &[u32], now: Tick) {
        // Leaf first, so that the blocks that every prefix needs go last.
        for token in hits.iter().rev() {
            if let Some(node) = self.nodes.get_mut(*token) {
                node.set_used(now);
                self.rotate(*token);
            }
        }
    }

    fn remove(&mut self, token: Token, _fingerprint: u32) {
        self.queue.unlink(&mut self.nodes, token);
        self.nodes.remove(token);
    }

    fn victim(&mut self) -> Option<BlockId> {
        let token = self.queue.oldest()?;
        self.rotate(token);
        Some(self.nodes.get(token)?.block)
    }

    fn coldest(&self) -> Option<Tick> {
        Some(self.nodes.get(self.queue.oldest()?)?.used())
    }

    fn used(&self, token: Token) -> Option<Tick> {
        self.nodes.get(token).map(Node::used)
    }

    fn len(&self) -> usize {
        self.queue.len()
    }

    fn memory_bytes(&self) -> usize {
        self.nodes.memory_bytes()
    }
}
