//! Tests of the index, by property.

mod budget;
mod claims;
mod partial;

use std::time::Instant;

use crate::eviction::Token;
use crate::index::{BlockKey, Claim, Index};
use crate::pool::Slot;
use crate::space::SpaceId;

/// A key that is its number.
fn key(number: u32) -> BlockKey {
    BlockKey::new(SpaceId(0), &number.to_le_bytes())
}

/// A visible block of `shards` with slots from `slot` on.
fn insert(index: &Index, key: BlockKey, shards: u16, slot: u32) {
    for shard in 0..shards {
        let Claim::Granted(block) = index.claim(key, shards, shard) else {
            panic!("not granted")
        };
        if index
            .fill(block, shard, Slot(slot + u32::from(shard)), Instant::now())
            .is_some()
        {
            index.publish(block, Token(slot));
        }
    }
}
