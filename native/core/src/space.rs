//! A space: the blocks of one cache group of one namespace, which all have one geometry.

use std::fmt;

/// Fewest bytes of a block hash.
pub const MIN_HASH_BYTES: u32 = 8;
/// Most bytes of a block hash: what a slot record has room for.
pub const MAX_HASH_BYTES: u32 = 32;

/// What names a space.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpaceKey {
    /// SHA-256 of model, layout and parallel sizes.
    pub namespace: [u8; 32],
    /// The cache group of the model.
    pub group: u32,
}

impl fmt::Display for SpaceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.namespace.iter().take(8) {
            write!(f, "{byte:02x}")?;
        }
        write!(f, "/{}", self.group)
    }
}

impl fmt::Debug for SpaceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SpaceKey({self})")
    }
}

/// The part of a block that one worker holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShardGeometry {
    /// Bytes of one page of this shard.
    pub page_bytes: u64,
    /// SHA-256 of the shard's segment lengths in order.
    pub digest: [u8; 32],
}

/// What all blocks of a space have in common.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SpaceGeometry {
    /// Bytes of one block hash.
    pub hash_bytes: u32,
    /// The pages that make up one block, in shard order.
    pub shards: Vec<ShardGeometry>,
}

/// What slot records call a space, and call another one later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct SpaceNumber(pub(crate) u16);

/// Names a space of one store, and never another one later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpaceId {
    pub(crate) number: SpaceNumber,
    /// How many spaces the store had before.
    pub(crate) generation: u32,
}
