//! The checksum that a page has in every tier.

use xxhash_rust::xxh3::Xxh3;

use crate::space::SpaceKey;

/// What a page's checksum begins with: under another key than its own, a page is as wrong as with other bytes.
///
/// `hash` is the block hash with zeros behind.
pub(crate) fn checksum_seed(space: &SpaceKey, shard: u16, hash: &[u8; 32]) -> u64 {
    let mut hasher = Xxh3::new();
    hasher.update(&space.namespace);
    hasher.update(&space.group.to_le_bytes());
    hasher.update(&shard.to_le_bytes());
    hasher.update(hash);
    hasher.digest()
}
