//! The block that is expected to give the fewest hits for the time that it stays goes first.
//!
//! Blocks are classed by how often they were used and by what the request looked like that used them last. How soon blocks of a
//! class are used again is learned from all that is kept or remembered (`hazard`): from that follows for each class and age
//! how many hits a block gives for each moment that it stays, if it stays as long as it pays best. That is the Gittins index of
//! a block; blocks of one class and about one age form a cohort and go together (`cohort`).
//! A block goes after those that follow it in its chain, which are of no use without it (`node`).

mod age;
mod chain;
mod class;
mod cohort;
mod expected;
mod fresh;
mod ghosts;
mod hazard;
mod node;
mod recency;

use super::{EvictionPolicy, Predecessor, Tick, Token};
use crate::index::BlockId;
use age::{moment, tick};
use class::{Class, Tail, Tails};
use cohort::Cohorts;
use expected::{Expected, Next};
use ghosts::{Ghosts, Memory};
use hazard::Hazards;
use node::{List, Node, Nodes, Place};
use recency::{Lru, Recency};

/// Of blocks that are not kept, so many for each kept one are remembered,
const GHOSTS_PER_BLOCK: usize = 2;
/// and as many as were seen up to these, however few blocks are kept.
const FEW_GHOSTS: usize = 1 << 15;
/// Blocks that were asked for and may still be saved: one for so many kept ones, and at least these.
const BLOCKS_PER_EXPECTED: usize = 16;
const FEW_EXPECTED: usize = 1 << 10;
/// The order is computed anew after one proposal for so many kept blocks: more often the fewer there are, up to some proposals.
const FEW_BLOCKS_PER_PROPOSAL: usize = 16;
const PROPOSALS_PER_RANKING: usize = 512;
const BLOCKS_PER_PROPOSAL: usize = 64;
/// Densities are computed anew after so many uses, or after one for so many kept blocks.
const USES_PER_LESSON: usize = 1024;
const BLOCKS_PER_USE: usize = 64;
/// What was seen counts half after so many uses, or after so many for each kept block.
const USES_PER_FADE: usize = 1 << 18;
const USES_OF_EACH_BLOCK: usize = 8;
/// A generator of coins: the constants of a linear congruence whose upper bits are used.
const COIN_FACTOR: u32 = 0x915f_77f5;
const COIN_STEP: u32 = 0x9e37_79b1;
const COIN_SHIFT: u32 = 15;
/// So many blocks that could not go may be proposed again once one went.
const RETURNS_PER_REMOVAL: usize = 2;

#[derive(Debug, Default)]
pub(super) struct Density {
    nodes: Nodes,
    cohorts: Cohorts,
    hazards: Hazards,
    tails: Tails,
    /// What is tossed next: the same uses have the same outcome always.
    coins: u32,
    ghosts: Ghosts,
    expected: Expected,
    recency: Recency,
    /// What LRU would have, once there was no more room.
    lru: Option<Lru>,
    /// The blocks that came last, the first to come first.
    fresh: List,
    /// Blocks that were proposed and are still here, the first proposed first.
    aside: List,
    kept: usize,
    /// How many were kept when the last request came: what fits, once there was no more room.
    fitting: usize,
    /// The latest moment that was seen.
    now: u32,
    /// Blocks that became ghosts, up to what the fewest ghosts are.
    forgotten: usize,
    /// Each block stands for 2^this.
    doublings: u32,
    proposals: usize,
    uses: usize,
    faded: usize,
}

impl Density {
    fn see(&mut self, now: Tick) {
        let now = moment(now);
        // A clock of another thread may be a little behind.
        if now.wrapping_sub(self.now) < 1 << 31 {
            self.now = now;
        }
    }

    /// Puts a node where it belongs by its children.
    fn settle(&mut self, token: Token) {
        let Some(node) = self.nodes.get_mut(token) else {
            return;
        };
        if node.children() == 0 {
            node.set_place(Place::Leaf);
            self.cohorts.link(&mut self.nodes, token, self.now, &self.hazards);
        } else {
            node.set_place(Place::Inner);
        }
    }

    /// Takes a node out of the list that it is in.
    fn unsettle(&mut self, token: Token) {
        match self.nodes.get(token).map(Node::place) {
            Some(Place::Leaf) => self.cohorts.unlink(&mut self.nodes, token),
            Some(Place::Fresh) => self.fresh.unlink(&mut self.nodes, token),
            Some(Place::Aside) => self.aside.unlink(&mut self.nodes, token),
            Some(Place::Inner | Place::Gone) | None => {}
        }
    }

    /// The class of a block of this class that such a request uses once more.
    fn again(&mut self, class: Class, tail: Tail) -> Class {
        self.coins = self.coins.wrapping_mul(COIN_FACTOR).wrapping_add(COIN_STEP);
        class.again(tail, self.coins ^ self.coins >> COIN_SHIFT)
    }

    /// A kept block was used by such a request.
    fn use_again(&mut self, token: Token, tail: Tail) {
        self.unsettle(token);
        let now = self.now;
        let Some((before, used)) = self.nodes.get(token).map(|node| (node.class(), node.used)) else {
            return;
        };
        let class = self.again(before, tail);
        self.cohorts.leave_used(before, used, now, &mut self.hazards);
        if let Some(node) = self.nodes.get_mut(token) {
            node.set_class(class);
            node.used = now;
        }
        self.cohorts.join(class, now, &mut self.hazards);
        self.settle(token);
        self.uses += 1;
    }

    /// Counts what LRU would have found of a request.
    fn compare_with_lru(&mut self, hits: &[Token], memories: &[Option<Memory>]) {
        let Some(lru) = &mut self.lru else { return };
        let kept = hits
            .iter()
            .map(|token| self.nodes.get(*token).map(|node| node.used));
        let gone = memories.iter().map(|memory| memory.map(|memory| memory.used));
        let lru_hits = lru.hits(kept.chain(gone), self.now);
        let asked = hits.len() + memories.len();
        self.recency.count(asked, hits.len(), lru_hits, self.kept);
    }

    fn remember(&mut self, fingerprint: u32, memory: Memory) {
        let most_few = FEW_GHOSTS >> self.doublings;
        self.forgotten = (self.forgotten + 1).min(most_few);
        // With as much room to spare, hardly any of the few is pushed out of a full bucket.
        let few = (self.forgotten * 2).min(most_few);
        let wanted = (self.kept * GHOSTS_PER_BLOCK).max(few);
        let cohorts = &mut self.cohorts;
        self.ghosts.reserve(wanted, self.now, |memory| {
            cohorts.leave_forgotten(memory.class, memory.used)
        });
        if let Some(memory) = self.ghosts.insert(fingerprint, memory, self.now) {
            self.cohorts.leave_forgotten(memory.class, memory.used);
        }
    }

    /// The blocks of a request that were not found: they are expected, behind the last that was.
    fn miss(&mut self, last: Option<Token>, misses: &[u32], memories: &[Option<Memory>], tail: Tail) {
        let most = self.most_expected();
        let mut parent = last.and_then(|token| self.kept(token));
        for (number, (fingerprint, memory)) in misses.iter().zip(memories).enumerate() {
            let class = match memory {
                Some(memory) => {
                    self.cohorts
                        .leave_used(memory.class, memory.used, self.now, &mut self.hazards);
                    self.again(memory.class, tail)
                }
                None if number + 1 == misses.len() => Class::last(tail),
                None => Class::first(tail),
            };
            self.cohorts.join(class, self.now, &mut self.hazards);
            self.remember(
                *fingerprint,
                Memory {
                    class,
                    used: self.now,
                },
            );
            if number < most {
                let next = misses.get(number + 1).copied().map(Next::Expected);
                self.expected.insert(*fingerprint, parent.take(), next, most);
            }
        }
        self.uses += misses.len();
    }

    fn most_expected(&self) -> usize {
        (self.kept / BLOCKS_PER_EXPECTED).max(FEW_EXPECTED)
    }

    /// Learns from what was seen, when it is time.
    fn learn(&mut self) {
        if self.uses >= USES_PER_LESSON.max(self.kept / BLOCKS_PER_USE) {
            self.faded += std::mem::take(&mut self.uses);
            self.hazards.learn();
        }
        if self.faded >= USES_PER_FADE.max(self.kept * USES_OF_EACH_BLOCK) {
            self.faded = 0;
            self.hazards.fade();
        }
    }

    fn rank(&mut self) {
        self.proposals = 0;
        self.learn();
        self.cohorts.merge(&mut self.nodes, self.now, &mut self.hazards);
        let fitting = self.fitting;
        let ahead = fitting / Lru::AHEAD_DIVISOR;
        let numbers = [fitting, fitting - ahead, self.recency.blocks(fitting)];
        let [lru_edge, next_edge, edge] = self.cohorts.used_since(numbers, self.now);
        self.lru = Some(Lru::new(lru_edge, next_edge, ahead));
        self.cohorts.rank(self.now, edge, &self.hazards);
    }

    /// Makes cohorts few again where no room is needed for long.
    fn tidy(&mut self) {
        if self.cohorts.are_many() {
            self.cohorts.merge(&mut self.nodes, self.now, &mut self.hazards);
            self.cohorts.rank_again(self.now, &self.hazards);
        }
    }

    /// The leaf that goes next, if there is one.
    fn next_leaf(&mut self) -> Option<Token> {
        let few = PROPOSALS_PER_RANKING.min(self.kept / FEW_BLOCKS_PER_PROPOSAL);
        if self.proposals >= few.max(self.kept / BLOCKS_PER_PROPOSAL) {
            self.rank();
        }
        if let Some(token) = self.cohorts.next() {
            return Some(token);
        }
        while self.settle_fresh(self.fresh.oldest()) {}
        self.rank();
        self.cohorts.next()
    }

    /// Makes all blocks leaves: what is left are chains that lead back to themselves, as no engine's do.
    fn part_chains(&mut self) {
        for number in 0..self.nodes.places() {
            self.release_parent(Token(number as u32));
        }
    }

    /// Sets a leaf aside: the block before it no longer waits for it.
    fn set_aside(&mut self, token: Token) {
        self.unsettle(token);
        if let Some(node) = self.nodes.get_mut(token) {
            node.set_place(Place::Aside);
        }
        self.aside.push(&mut self.nodes, token);
        self.release_parent(token);
    }
}

impl EvictionPolicy for Density {
    fn request(&mut self, hits: &[Token], misses: &[u32], now: Tick) {
        self.see(now);
        self.fitting = self.kept;
        let memories = self.ghosts.take_all(misses, self.now);
        self.compare_with_lru(hits, &memories);
        let known = hits.len() + memories.iter().take_while(|memory| memory.is_some()).count();
        let tail = self.tails.of(known, hits.len() + misses.len());
        for token in hits.iter().rev() {
            self.use_again(*token, tail);
        }
        for (parent, child) in hits.iter().zip(hits.iter().skip(1)) {
            self.adopt(*child, *parent);
        }
        self.miss(hits.last().copied(), misses, &memories, tail);
        self.tidy();
    }

    fn insert(&mut self, block: BlockId, fingerprint: u32, after: Option<Predecessor>, now: Tick) -> Token {
        self.see(now);
        let memory = self.ghosts.take(fingerprint, self.now).unwrap_or_else(|| {
            self.cohorts.join(Class::UNANNOUNCED, self.now, &mut self.hazards);
            Memory {
                class: Class::UNANNOUNCED,
                used: self.now,
            }
        });
        self.kept += 1;
        let token = self.nodes.insert(block, memory.class, memory.used);
        self.fresh.push(&mut self.nodes, token);
        self.chain(token, fingerprint, after);
        self.limit_fresh();
        token
    }

    fn present(&mut self, token: Token, fingerprint: u32, after: Option<Predecessor>, now: Tick) {
        self.see(now);
        let tail = match self.ghosts.take(fingerprint, self.now) {
            Some(memory) => {
                self.cohorts.leave_forgotten(memory.class, memory.used);
                memory.class.tail()
            }
            None => self
                .nodes
                .get(token)
                .map_or(Class::UNANNOUNCED, Node::class)
                .tail(),
        };
        self.use_again(token, tail);
        self.chain(token, fingerprint, after);
    }

    fn remove(&mut self, token: Token, fingerprint: u32) {
        self.unsettle(token);
        self.release_parent(token);
        let Some(node) = self.nodes.get_mut(token) else {
            return;
        };
        let memory = Memory {
            class: node.class(),
            used: node.used,
        };
        node.set_place(Place::Gone);
        if node.children() == 0 {
            self.nodes.free(token);
        }
        self.kept -= 1;
        self.remember(fingerprint, memory);
        // What could not go may be able to by now.
        for _ in 0..RETURNS_PER_REMOVAL {
            if let Some(token) = self.aside.oldest() {
                self.unsettle(token);
                self.settle(token);
            }
        }
    }

    fn victim(&mut self) -> Option<BlockId> {
        self.proposals += 1;
        self.limit_fresh();
        if let Some(token) = self.next_leaf() {
            self.set_aside(token);
            return Some(self.nodes.get(token)?.block);
        }
        if self.aside.len() < self.kept {
            self.part_chains();
            return self.victim();
        }
        let token = self.aside.oldest()?;
        self.aside.unlink(&mut self.nodes, token);
        self.aside.push(&mut self.nodes, token);
        Some(self.nodes.get(token)?.block)
    }

    fn coldest(&self) -> Option<Tick> {
        let used = |token| Some(self.nodes.get(token)?.used);
        let waiting = || self.fresh.oldest().or(self.aside.oldest()).and_then(used);
        let oldest = self.cohorts.oldest().or_else(waiting).unwrap_or(self.now);
        (self.kept > 0).then(|| tick(oldest))
    }

    fn used(&self, token: Token) -> Option<Tick> {
        self.nodes.get(token).map(|node| tick(node.used))
    }

    fn sample(&mut self, doublings: u32, is_sampled: &dyn Fn(u32) -> bool) {
        for _ in self.doublings..doublings {
            // What all blocks have taught weighs as if it were of the sample.
            self.hazards.fade();
        }
        self.doublings = doublings;
        let cohorts = &mut self.cohorts;
        self.ghosts.retain(self.now, is_sampled, |memory| {
            cohorts.leave_forgotten(memory.class, memory.used)
        });
    }

    fn len(&self) -> usize {
        self.kept
    }

    fn memory_bytes(&self) -> usize {
        self.nodes.memory_bytes()
            + self.cohorts.memory_bytes()
            + self.ghosts.memory_bytes()
            + self.expected.memory_bytes()
    }
}
