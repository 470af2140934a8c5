//! Doubly linked queues of blocks in one arena: what the policies are made of.

use super::{Tick, Token};
use crate::arena::Arena;
use crate::index::BlockId;

const NONE: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Node {
    older: u32,
    younger: u32,
    pub(super) block: BlockId,
    /// In bytes, for which the node needs no room between its parts.
    used: [u8; size_of::<Tick>()],
}

impl Node {
    /// When the block was used last.
    pub(super) fn used(&self) -> Tick {
        Tick::from_le_bytes(self.used)
    }

    pub(super) fn set_used(&mut self, now: Tick) {
        self.used = now.to_le_bytes();
    }
}

/// The nodes of all queues of a policy.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    nodes: Arena<Node>,
}

impl Nodes {
    /// A node in no queue.
    pub(super) fn insert(&mut self, block: BlockId, used: Tick) -> Token {
        Token(self.nodes.insert(Node {
            older: NONE,
            younger: NONE,
            block,
            used: used.to_le_bytes(),
        }))
    }

    /// Frees a node in no queue.
    pub(super) fn remove(&mut self, token: Token) {
        self.nodes.remove(token.0);
    }

    pub(super) fn get(&self, token: Token) -> Option<&Node> {
        self.nodes.get(token.0)
    }

    pub(super) fn get_mut(&mut self, token: Token) -> Option<&mut Node> {
        self.nodes.get_mut(token.0)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.nodes.memory_bytes()
    }
}

/// One queue: blocks enter at the young end and leave from anywhere.
#[derive(Debug)]
pub(super) struct Queue {
    oldest: u32,
    youngest: u32,
    len: usize,
}

impl Default for Queue {
    fn default() -> Self {
        Self {
            oldest: NONE,
            youngest: NONE,
            len: 0,
        }
    }
}

impl Queue {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn younger(&self, nodes: &Nodes, token: Token) -> Option<Token> {
        let younger = nodes.get(token)?.younger;
        (younger != NONE).then_some(Token(younger))
    }

    pub(super) fn oldest(&self) -> Option<Token> {
        (self.oldest != NONE).then_some(Token(self.oldest))
    }

    /// Puts a node that is in no queue at the young end.
    pub(super) fn push(&mut self, nodes: &mut Nodes, token: Token) {
        let before = std::mem::replace(&mut self.youngest, token.0);
        if let Some(node) = nodes.get_mut(token) {
            node.older = before;
            node.younger = NONE;
        }
        match nodes.get_mut(Token(before)) {
            Some(node) => node.younger = token.0,
            None => self.oldest = token.0,
        }
        self.len += 1;
    }

    /// Takes a node of this queue out.
    pub(super) fn unlink(&mut self, nodes: &mut Nodes, token: Token) {
        let Some(&Node { older, younger, .. }) = nodes.get(token) else {
            return;
        };
        match nodes.get_mut(Token(older)) {
            Some(node) => node.younger = younger,
            None => self.oldest = younger,
        }
        match nodes.get_mut(Token(younger)) {
            Some(node) => node.older = older,
            None => self.youngest = older,
        }
        self.len -= 1;
    }
}
