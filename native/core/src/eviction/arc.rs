//! ARC: blocks used once and blocks used again in two queues, whose shares follow what comes back.
//!
//! After Megiddo and Modha, "ARC: a self-tuning, low overhead replacement cache" (FAST 2003). The number of blocks that fit is not
//! fixed: the blocks that are kept stand in for it.

use super::by_token::ByToken;
use super::ghost::Ghost;
use super::queue::{Node, Nodes, Queue};
use super::{EvictionPolicy, Predecessor, Tick, Token};
use crate::index::BlockId;

const ONCE: u8 = 0;
const AGAIN: u8 = 1;
/// The paper makes room before it inserts: of the blocks used once, the last to come stays.
const JUST_INSERTED: usize = 1;

#[derive(Debug, Default)]
pub(super) struct Arc {
    nodes: Nodes,
    /// By token: which queue the block is in.
    marks: ByToken<u8>,
    once: Queue,
    again: Queue,
    /// What went from each queue.
    gone_once: Ghost,
    gone_again: Ghost,
    /// So many blocks used once should be kept.
    target: usize,
    /// Proposals since a block last went.
    fruitless: usize,
}

impl Arc {
    fn put(&mut self, token: Token, mark: u8) {
        self.marks.set(token, mark);
        let Self {
            nodes, once, again, ..
        } = self;
        let queue = if mark == ONCE { once } else { again };
        queue.push(nodes, token);
    }

    fn take(&mut self, token: Token) -> u8 {
        let mark = self.marks.get(token);
        let Self {
            nodes, once, again, ..
        } = self;
        let queue = if mark == ONCE { once } else { again };
        queue.unlink(nodes, token);
        mark
    }

    /// The queue that a block goes from next; the other one while nothing in it can go.
    fn next(&self) -> u8 {
        let turn = self.len().max(1);
        let is_turned = self.fruitless / turn % 2 == 1;
        let prefers_once = self.once.len() > self.target.max(JUST_INSERTED) || self.again.len() == 0;
        let takes_once = self.once.len() > 0 && (prefers_once != is_turned || self.again.len() == 0);
        if takes_once { ONCE } else { AGAIN }
    }

    fn oldest(&self) -> Option<Token> {
        if self.next() == ONCE {
            self.once.oldest()
        } else {
            self.again.oldest()
        }
    }
}

/// How many times as many, at least once, to the nearest whole number.
fn ratio(many: usize, few: usize) -> usize {
    ((many + few / 2) / few).max(1)
}

impl EvictionPolicy for Arc {
    fn request(&mut self, hits: &[Token], _misses: &[u32], now: Tick) {
        for token in hits.iter().rev() {
            if let Some(node) = self.nodes.get_mut(*token) {
                node.set_used(now);
                self.take(*token);
                self.put(*token, AGAIN);
            }
        }
    }

    fn insert(&mut self, block: BlockId, fingerprint: u32, _after: Option<Predecessor>, now: Tick) -> Token {
        let token = self.nodes.insert(block, now);
        let (gone_once, gone_again) = (self.gone_once.len().max(1), self.gone_again.len().max(1));
        let mark = if self.gone_once.take(fingerprint) {
            let step = ratio(gone_again, gone_once);
            self.target = (self.target + step).min(self.len());
            AGAIN
        } else if self.gone_again.take(fingerprint) {
            let step = ratio(gone_once, gone_again);
            self.target = self.target.saturating_sub(step);
            AGAIN
        } else {
            ONCE
        };
        self.put(token, mark);
        token
    }

    fn remove(&mut self, token: Token, fingerprint: u32) {
        let mark = self.take(token);
        self.nodes.remove(token);
        self.fruitless = 0;
        // Together they remember about as many as are kept.
        let (room, other) = match mark {
            ONCE => (self.len().saturating_sub(self.once.len()), &mut self.gone_once),
            _ => (self.len().saturating_sub(self.again.len()), &mut self.gone_again),
        };
        other.reserve(room);
        other.insert(fingerprint);
    }

    fn victim(&mut self) -> Option<BlockId> {
        let token = self.oldest()?;
        let mark = self.take(token);
        self.put(token, mark);
        self.fruitless += 1;
        Some(self.nodes.get(token)?.block)
    }

    fn coldest(&self) -> Option<Tick> {
        Some(self.nodes.get(self.oldest()?)?.used())
    }

    fn used(&self, token: Token) -> Option<Tick> {
        self.nodes.get(token).map(Node::used)
    }

    fn len(&self) -> usize {
        self.once.len() + self.again.len()
    }

    fn memory_bytes(&self) -> usize {
        self.nodes.memory_bytes()
            + self.marks.memory_bytes()
            + self.gone_once.memory_bytes()
            + self.gone_again.memory_bytes()
    }
}
