//! Which block goes when room is needed.
//!
//! Each space has a policy of its own, which orders the space's blocks and keeps what it needs for that by itself.
//! It decides nothing alone: it proposes, and the store evicts what nobody pins.

mod arc;
mod by_token;
mod density;
mod ghost;
mod lru;
mod queue;
mod s3fifo;
mod sieve;
mod sketch;
#[cfg(test)]
mod tests;
mod tinylfu;

use std::fmt::Debug;

use crate::index::BlockId;

/// When a block was last used: microseconds of the store's clock, later for each use.
pub(crate) type Tick = u64;

/// What a policy calls a block that it keeps; free for another block after `remove`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) u32);

/// A block that a policy kept: by now its token may name another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) token: Token,
    /// What the token has to name still.
    pub(crate) block: BlockId,
}

/// The block before another in its chain, as whoever saves the other says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Predecessor {
    pub(crate) fingerprint: u32,
    /// None before it has come, and once it has gone.
    pub(crate) kept: Option<Kept>,
}

/// An order in which blocks go.
///
/// The caller holds the policy's lock and no other, and gives to `request` and `remove` only tokens that `insert` gave and that
/// were not removed. The policy takes at most [`MAX_POLICY_BYTES`] a block, and each call ends after work that does not
/// grow with the number of blocks, taken over all calls.
///
/// A fingerprint is the same whenever a block of the same key is asked for or comes back, and mostly another for other keys.
pub(crate) trait EvictionPolicy: Debug + Send {
    /// An engine asked for the blocks of a prompt: the first were found, and have these tokens, the others were not.
    ///
    /// Both are in the order of the prompt: each block is of use only with all before it. Those that were not found are
    /// mostly inserted soon.
    fn request(&mut self, hits: &[Token], misses: &[u32], now: Tick);

    /// Keeps a block of which a first page is filled. `after` is None where it is not known, and for the first of a prompt.
    ///
    /// Guarantees a token that no kept block has.
    fn insert(&mut self, block: BlockId, fingerprint: u32, after: Option<Predecessor>, now: Tick) -> Token;

    /// An engine offered a block to save that is kept already: it has used it.
    fn present(&mut self, token: Token, _fingerprint: u32, _after: Option<Predecessor>, now: Tick) {
        self.request(&[token], &[], now);
    }

    /// The block was evicted: it is never proposed again.
    ///
    /// `fingerprint` is the one that it was inserted with, which the policy may remember.
    fn remove(&mut self, token: Token, fingerprint: u32);

    /// The block that should go next; None only when no block is kept.
    ///
    /// The block stays kept, behind the others: a caller that cannot evict it calls again for another, and within
    /// four calls for each kept block every block is proposed.
    fn victim(&mut self) -> Option<BlockId>;

    /// About when the block that comes next was last used; None when no block is kept.
    fn coldest(&self) -> Option<Tick>;

    /// About when a kept block was last used.
    fn used(&self, token: Token) -> Option<Tick>;

    /// The blocks are a sample: `is_sampled` says which of all fingerprints it has, one of 2^`doublings`.
    ///
    /// No other comes from now on, so what is remembered of others is forgotten, and what a policy has so many of, however few
    /// blocks are kept, becomes as much less.
    fn sample(&mut self, _doublings: u32, _is_sampled: &dyn Fn(u32) -> bool) {}

    /// Blocks that are kept.
    fn len(&self) -> usize;

    /// Bytes that the policy has allocated.
    fn memory_bytes(&self) -> usize;
}

/// Most bytes that a policy takes for each block that it keeps, beside [`MAX_POLICY_BASE_BYTES`].
#[cfg(test)]
pub(crate) const MAX_POLICY_BYTES: usize = 48;

/// Most bytes that a policy takes however few blocks it keeps.
#[cfg(test)]
pub(crate) const MAX_POLICY_BASE_BYTES: usize = 512 << 10;

/// The policies that a store can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PolicyKind {
    /// The least recently used block goes first.
    Lru,
    /// S3-FIFO: blocks that are used only once go first, and come back to better places.
    S3Fifo,
    /// SIEVE: blocks that were not used since the last look at them go first.
    Sieve,
    /// ARC: as many blocks that were used once as it pays to keep.
    Arc,
    /// W-TinyLFU: the blocks that were used least often go first.
    TinyLfu,
    /// The block with the fewest expected hits for the room that it takes goes first, leaves before what they follow.
    #[default]
    Density,
}

impl PolicyKind {
    /// All policies, in the order in which they are listed to people.
    pub const ALL: [Self; 6] = [
        Self::Lru,
        Self::S3Fifo,
        Self::Sieve,
        Self::Arc,
        Self::TinyLfu,
        Self::Density,
    ];

    /// The word for settings, status and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::S3Fifo => "s3fifo",
            Self::Sieve => "sieve",
            Self::Arc => "arc",
            Self::TinyLfu => "tinylfu",
            Self::Density => "density",
        }
    }

    /// Whether of each prompt the last blocks go first, so that what is left of it is of use.
    pub(crate) fn goes_leaf_first(self) -> bool {
        matches!(self, Self::Lru | Self::Density)
    }

    /// An empty policy of this kind.
    pub(crate) fn build(self) -> Box<dyn EvictionPolicy> {
        match self {
            Self::Lru => Box::new(lru::Lru::default()),
            Self::S3Fifo => Box::new(s3fifo::S3Fifo::default()),
            Self::Sieve => Box::new(sieve::Sieve::default()),
            Self::Arc => Box::new(arc::Arc::default()),
            Self::TinyLfu => Box::new(tinylfu::TinyLfu::default()),
            Self::Density => Box::new(density::Density::default()),
        }
    }
}
