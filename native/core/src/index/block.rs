//! A block as the index has it.

use crate::eviction::{Tick, Token};
use crate::pool::Slot;
use crate::space::{MAX_HASH_BYTES, SpaceId, SpaceNumber};

/// The index has 2^6 parts: enough that threads seldom meet, few enough that an empty index is small.
pub(super) const PART_BITS: u32 = 6;

/// What names a block: its space, and its hash with zeros behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BlockKey {
    pub(crate) hash: [u8; MAX_HASH_BYTES as usize],
    pub(crate) space: SpaceNumber,
}

impl BlockKey {
    /// The key of a hash of at most [`MAX_HASH_BYTES`].
    pub(crate) fn new(space: SpaceId, bytes: &[u8]) -> Self {
        let mut hash = [0; MAX_HASH_BYTES as usize];
        for (to, from) in hash.iter_mut().zip(bytes) {
            *to = *from;
        }
        Self {
            hash,
            space: space.number,
        }
    }
}

/// Names a block while it is pinned or being saved; afterwards it may name another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BlockId(pub(crate) u32);

impl BlockId {
    pub(super) fn new(part: usize, number: u32) -> Self {
        Self(number << PART_BITS | part as u32)
    }

    pub(super) fn part(self) -> usize {
        (self.0 & ((1 << PART_BITS) - 1)) as usize
    }

    pub(super) fn number(self) -> u32 {
        self.0 >> PART_BITS
    }
}

/// How far a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Not all shards are filled, or nobody has published it yet.
    Partial,
    /// Lookups find it.
    Visible,
    /// Its bytes are not what was saved: nothing finds it, and it goes with its last pin.
    Condemned,
}

/// When a block became visible, and whether a lookup has found it since: tenths of a second, for 6.8 years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Life(u32);

const FOUND: u32 = 1 << 31;
const TICKS: Tick = 100_000;

impl Life {
    pub(super) fn begin(now: Tick) -> Self {
        Self((now / TICKS) as u32 & !FOUND)
    }

    pub(super) fn find(&mut self) {
        self.0 |= FOUND;
    }

    /// Whether a lookup has found it.
    pub(crate) fn was_found(self) -> bool {
        self.0 & FOUND != 0
    }

    /// When it became visible.
    pub(crate) fn began(self) -> Tick {
        Tick::from(self.0 & !FOUND) * TICKS
    }
}

/// An entry of the index.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) key: BlockKey,
    pub(super) shards: u16,
    pub(super) filled: u16,
    pub(super) stage: Stage,
    /// The store looks at its pages, beside whoever pins it.
    pub(super) is_inspected: bool,
    /// Where its slots are in the part's runs.
    pub(super) run: u32,
    pub(super) pins: u32,
    /// What the policy calls it, which keeps it from its first filled shard on.
    pub(super) token: Token,
    pub(super) life: Life,
}

/// The answer to a claim of one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The caller's to fill or give up.
    Granted(BlockId),
    /// Filled already.
    Present,
    /// Another's to fill.
    InFlight,
}

/// What became of a block when one of its shards was filled.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Filled {
    /// No other shard was: a policy has to keep the block from now on.
    pub(crate) is_first: bool,
    /// The slots of all shards when no other is missing: the block has to be published.
    pub(crate) whole: Option<Vec<Slot>>,
}

/// A visible block that the caller has pinned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pinned {
    pub(crate) block: BlockId,
    pub(crate) token: Token,
    /// Nobody else had pinned it.
    pub(crate) is_first: bool,
}

/// What became of a pin, or of a look, that was taken back.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unpinned {
    /// Nobody pins the block any more.
    pub(crate) is_last: bool,
    /// The block, if it was condemned and nobody uses it any more.
    pub(crate) removed: Option<Removed>,
}

/// A block that is in the index no more; its pages are the caller's to free.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Removed {
    pub(crate) key: BlockKey,
    pub(crate) token: Token,
    pub(crate) stage: Stage,
    pub(crate) life: Life,
    pub(crate) slots: Vec<Slot>,
}
