//! S3-FIFO: a small queue that filters what is used once, a main queue, and a memory of what the filter let go.
//!
//! After Yang et al., "FIFO queues are all you need for cache eviction" (SOSP 2023), with a small queue of a tenth
//! of the kept blocks, since the number of blocks that fit is not fixed.

use super::by_token::ByToken;
use super::ghost::Ghost;
use super::queue::{Node, Nodes, Queue};
use super::{EvictionPolicy, Predecessor, Tick, Token};
use crate::index::BlockId;

const SMALL_DIVISOR: usize = 10;
const MAX_USES: u8 = 3;
/// A block of the small queue that was hit more often than this moves to main unproposed.
const USES_OF_ONE_TIMERS: u8 = 1;

/// What the policy knows of a block beside its node.
#[derive(Debug, Clone, Copy, Default)]
struct Mark(u8);

impl Mark {
    const USES: u8 = 0b011;
    const IN_SMALL: u8 = 0b100;
    /// Proposed from the small queue, and in main since then in case that it cannot go.
    const FILTERED: u8 = 0b1000;

    fn uses(self) -> u8 {
        self.0 & Self::USES
    }

    fn with_uses(self, uses: u8) -> Self {
        Self(self.0 & !Self::USES | uses.min(MAX_USES))
    }

    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

#[derive(Debug, Default)]
pub(super) struct S3Fifo {
    nodes: Nodes,
    /// By token.
    marks: ByToken<Mark>,
    small: Queue,
    main: Queue,
    ghost: Ghost,
    /// Proposals since a block last went.
    fruitless: usize,
}

impl S3Fifo {
    /// The small queue is next while it has more than its part, or when nothing in main can go.
    fn is_small_next(&self) -> bool {
        let has_more = self.small.len() * SMALL_DIVISOR > self.len();
        self.small.len() > 0 && (has_more || self.fruitless >= self.main.len())
    }

    fn move_to_main(&mut self, token: Token, mark: Mark) {
        self.small.unlink(&mut self.nodes, token);
        self.main.push(&mut self.nodes, token);
        self.marks.set(token, mark);
    }
}

impl EvictionPolicy for S3Fifo {
    fn insert(&mut self, block: BlockId, fingerprint: u32, _after: Option<Predecessor>, now: Tick) -> Token {
        let token = self.nodes.insert(block, now);
        if self.ghost.take(fingerprint) {
            self.main.push(&mut self.nodes, token);
            self.marks.set(token, Mark(0));
        } else {
            self.small.push(&mut self.nodes, token);
            self.marks.set(token, Mark(Mark::IN_SMALL));
        }
        token
    }

    fn request(&mut self, hits: &[Token], _misses: &[u32], now: Tick) {
        for token in hits {
            if let Some(node) = self.nodes.get_mut(*token) {
                node.set_used(now);
                let mark = self.marks.get(*token);
                self.marks.set(*token, mark.with_uses(mark.uses() + 1));
            }
        }
    }

    fn remove(&mut self, token: Token, fingerprint: u32) {
        let mark = self.marks.get(token);
        let queue = if mark.has(Mark::IN_SMALL) {
            &mut self.small
        } else {
            &mut self.main
        };
        queue.unlink(&mut self.nodes, token);
        self.nodes.remove(token);
        self.fruitless = 0;
        if mark.has(Mark::FILTERED) {
            // In the paper as many as are kept, too.
            self.ghost.reserve(self.len());
            self.ghost.insert(fingerprint);
        }
    }

    fn victim(&mut self) -> Option<BlockId> {
        loop {
            if self.is_small_next() {
                let token = self.small.oldest()?;
                if self.marks.get(token).uses() > USES_OF_ONE_TIMERS {
                    self.move_to_main(token, Mark(0));
                    continue;
                }
                self.move_to_main(token, Mark(Mark::FILTERED));
                self.fruitless += 1;
                return Some(self.nodes.get(token)?.block);
            }
            let token = self.main.oldest()?;
            self.main.unlink(&mut self.nodes, token);
            self.main.push(&mut self.nodes, token);
            let uses = self.marks.get(token).uses();
            self.marks.set(token, Mark(uses.saturating_sub(1)));
            if uses == 0 {
                self.fruitless += 1;
                return Some(self.nodes.get(token)?.block);
            }
        }
    }

    fn coldest(&self) -> Option<Tick> {
        let queue = if self.is_small_next() {
            &self.small
        } else {
            &self.main
        };
        Some(self.nodes.get(queue.oldest()?)?.used())
    }

    fn used(&self, token: Token) -> Option<Tick> {
        self.nodes.get(token).map(Node::used)
    }

    fn len(&self) -> usize {
        self.small.len() + self.main.len()
    }

    fn memory_bytes(&self) -> usize {
        self.nodes.memory_bytes() + self.marks.memory_bytes() + self.ghost.memory_bytes()
    }
}
