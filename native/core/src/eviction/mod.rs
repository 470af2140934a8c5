//! Which block goes when room is needed.
//!
//! Each space has a policy of its own, which orders the space's blocks and keeps what it needs for that by itself.
//! It decides nothing alone: it proposes, and the store evicts what nobody pins.

mod ghost;
mod lru;
mod queue;
mod s3fifo;
#[cfg(test)]
mod tests;

use std::fmt::Debug;

use crate::index::BlockId;

/// When a block was last used: the store's clock, which wraps around.
pub(crate) type Tick = u32;

/// What a policy calls a block that it keeps; free for another block after `remove`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token(pub(crate) u32);

/// An order in which blocks go.
///
/// The caller holds the policy's lock and no other, and gives to `touch` and `remove` only tokens that `insert` gave and that
/// were not removed. The policy takes at most [`MAX_POLICY_BYTES`] a block, and each call ends after work that does not
/// grow with the number of blocks, taken over all calls.
pub(crate) trait EvictionPolicy: Debug + Send {
    /// Keeps a block of which a first page is filled.
    ///
    /// `fingerprint` is the same whenever a block of the same key comes back, and mostly another for other keys.
    /// Guarantees a token that no kept block has.
    fn insert(&mut self, block: BlockId, fingerprint: u32, now: Tick) -> Token;

    /// The block was hit.
    fn touch(&mut self, token: Token, now: Tick);

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

    /// Blocks that are kept.
    fn len(&self) -> usize;

    /// Bytes that the policy has allocated.
    fn memory_bytes(&self) -> usize;
}

/// Most bytes that a policy takes for each block that it keeps, once it keeps a few thousand.
#[cfg(test)]
pub(crate) const MAX_POLICY_BYTES: usize = 24;

/// The policies that a store can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PolicyKind {
    /// The least recently used block goes first.
    #[default]
    Lru,
    /// S3-FIFO: blocks that are used only once go first, and come back to better places.
    S3Fifo,
}

impl PolicyKind {
    /// All policies, in the order in which they are listed to people.
    pub const ALL: [Self; 2] = [Self::Lru, Self::S3Fifo];

    /// The word for settings, status and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::S3Fifo => "s3fifo",
        }
    }

    /// An empty policy of this kind.
    pub(crate) fn build(self) -> Box<dyn EvictionPolicy> {
        match self {
            Self::Lru => Box::new(lru::Lru::default()),
            Self::S3Fifo => Box::new(s3fifo::S3Fifo::default()),
        }
    }
}
