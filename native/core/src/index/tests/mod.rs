//! Tests of the index, by property.

mod budget;
mod claims;
mod condemned;
mod partial;

use std::time::Instant;

use crate::eviction::Token;
use crate::index::{BlockId, BlockKey, Claim, Index};
use crate::pool::Slot;
use crate::space::{SpaceId, SpaceNumber};

/// A key that is its number.
fn key(number: u32) -> BlockKey {
    let space = SpaceId {
        number: SpaceNumber(0),
        generation: 0,
    };
    BlockKey::new(space, &number.to_le_bytes())
}

/// Fills a claimed shard and does what has to follow; the slots once the block is visible.
fn fill(
    index: &Index,
    block: BlockId,
    shard: u16,
    slot: Slot,
    token: Token,
    now: Instant,
) -> Option<Vec<Slot>> {
    let filled = index.fill(block, shard, slot, now).unwrap();
    if filled.is_first {
        index.keep(block, token);
    }
    if filled.whole.is_some() {
        index.publish(block, 0);
    }
    filled.whole
}

/// A visible block of `shards` with slots from `slot` on.
fn insert(index: &Index, key: BlockKey, shards: u16, slot: u32) {
    for shard in 0..shards {
        let Claim::Granted(block) = index.claim(key, shards, shard) else {
            panic!("not granted")
        };
        fill(
            index,
            block,
            shard,
            Slot(slot + u32::from(shard)),
            Token(slot),
            Instant::now(),
        );
    }
}
