//! W-TinyLFU: a small window of what came last, and a main part that new blocks enter only if they are used more often.
//!
//! After Einziger, Friedman and Manes, "TinyLFU: A Highly Efficient Cache Admission Policy" (ACM ToS 2017). The main part is a
//! segmented LRU: blocks on probation, and protected ones that were used again.

use super::by_token::ByToken;
use super::queue::{Node, Nodes, Queue};
use super::sketch::Sketch;
use super::{EvictionPolicy, Predecessor, Tick, Token};
use crate::index::BlockId;

/// The window has this part of all blocks,
const WINDOW_DIVISOR: usize = 100;
/// and this part of the others is protected at most.
const PROTECTED_PERCENT: usize = 80;

/// The queue that a block is in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    #[default]
    Window,
    Probation,
    Protected,
}

#[derive(Debug, Default)]
pub(super) struct TinyLfu {
    nodes: Nodes,
    parts: ByToken<Part>,
    fingerprints: ByToken<u32>,
    window: Queue,
    probation: Queue,
    protected: Queue,
    sketch: Sketch,
    /// Most blocks that were kept at a time.
    most: usize,
    /// Proposals since a block last went.
    fruitless: usize,
}

impl TinyLfu {
    fn queue(&mut self, part: Part) -> (&mut Queue, &mut Nodes) {
        let queue = match part {
            Part::Window => &mut self.window,
            Part::Probation => &mut self.probation,
            Part::Protected => &mut self.protected,
        };
        (queue, &mut self.nodes)
    }

    /// Puts a block at the young end of a part.
    fn move_to(&mut self, token: Token, part: Part) {
        let (queue, nodes) = self.queue(self.parts.get(token));
        queue.unlink(nodes, token);
        let (queue, nodes) = self.queue(part);
        queue.push(nodes, token);
        self.parts.set(token, part);
    }

    fn use_again(&mut self, token: Token) {
        let part = match self.parts.get(token) {
            Part::Window => Part::Window,
            Part::Probation | Part::Protected => Part::Protected,
        };
        self.move_to(token, part);
        let main = self.probation.len() + self.protected.len();
        while self.protected.len() > main * PROTECTED_PERCENT / 100 {
            let Some(oldest) = self.protected.oldest() else {
                break;
            };
            self.move_to(oldest, Part::Probation);
        }
    }

    /// The block that goes next from the main part.
    fn oldest_in_main(&self) -> Option<Token> {
        self.probation.oldest().or_else(|| self.protected.oldest())
    }

    /// The block of the window that is next to leave it, when that has too many.
    fn candidate(&self) -> Option<Token> {
        let has_more = self.window.len() > self.len().div_ceil(WINDOW_DIVISOR);
        self.window.oldest().filter(|_| has_more)
    }

    /// The next of those that come after all that were preferred could not go.
    fn any(&self) -> Option<Token> {
        let parts = [&self.window, &self.probation, &self.protected];
        let turn = self.fruitless / self.len().max(1) % (parts.len() + 1);
        parts.get(turn.checked_sub(1)?)?.oldest()
    }

    fn count(&self, token: Token) -> u64 {
        self.sketch.count(self.fingerprints.get(token))
    }
}

impl EvictionPolicy for TinyLfu {
    fn request(&mut self, hits: &[Token], misses: &[u32], now: Tick) {
        for fingerprint in misses {
            self.sketch.add(*fingerprint);
        }
        for token in hits.iter().rev() {
            if let Some(node) = self.nodes.get_mut(*token) {
                node.set_used(now);
                self.sketch.add(self.fingerprints.get(*token));
                self.use_again(*token);
            }
        }
    }

    fn insert(&mut self, block: BlockId, fingerprint: u32, _after: Option<Predecessor>, now: Tick) -> Token {
        let token = self.nodes.insert(block, now);
        self.parts.set(token, Part::Window);
        self.fingerprints.set(token, fingerprint);
        self.window.push(&mut self.nodes, token);
        self.sketch.reserve(self.len());
        if self.len() > self.most {
            // While there is room, nothing has to be worth its place.
            self.most = self.len();
            if let Some(candidate) = self.candidate() {
                self.move_to(candidate, Part::Probation);
            }
        }
        token
    }

    fn present(&mut self, token: Token, _fingerprint: u32, _after: Option<Predecessor>, now: Tick) {
        // It was counted when it was asked for.
        if let Some(node) = self.nodes.get_mut(token) {
            node.set_used(now);
            self.use_again(token);
        }
    }

    fn remove(&mut self, token: Token, _fingerprint: u32) {
        let (queue, nodes) = self.queue(self.parts.get(token));
        queue.unlink(nodes, token);
        self.nodes.remove(token);
        self.fruitless = 0;
    }

    fn victim(&mut self) -> Option<BlockId> {
        let token = if let Some(token) = self.any() {
            token
        } else if let Some(candidate) = self.candidate() {
            match self.oldest_in_main() {
                Some(oldest) if self.count(candidate) > self.count(oldest) => {
                    // Once for each block that goes: as long as none can, each part is gone through as it is.
                    if self.fruitless == 0 {
                        self.move_to(candidate, Part::Probation);
                    }
                    oldest
                }
                _ => candidate,
            }
        } else {
            self.oldest_in_main().or_else(|| self.window.oldest())?
        };
        self.move_to(token, self.parts.get(token));
        self.fruitless += 1;
        Some(self.nodes.get(token)?.block)
    }

    fn coldest(&self) -> Option<Tick> {
        let next = self.oldest_in_main().or_else(|| self.window.oldest())?;
        Some(self.nodes.get(next)?.used())
    }

    fn used(&self, token: Token) -> Option<Tick> {
        self.nodes.get(token).map(Node::used)
    }

    fn len(&self) -> usize {
        self.window.len() + self.probation.len() + self.protected.len()
    }

    fn memory_bytes(&self) -> usize {
        self.nodes.memory_bytes()
            + self.parts.memory_bytes()
            + self.fingerprints.memory_bytes()
            + self.sketch.memory_bytes()
    }
}
