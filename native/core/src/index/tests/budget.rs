//! What the cache takes beside the pages themselves.

use super::{insert, key};
use crate::eviction::PolicyKind;
use crate::index::{BlockId, Index};
use crate::pool::RECORD_BYTES;

/// Most bytes for each page: slot record, index entry and policy.
const MAX_METADATA_BYTES: u64 = 178;

/// The most that index and policy take for each page, over sizes that include those right after a table grew.
fn worst_bytes(policy: PolicyKind, shards: u16) -> u64 {
    let index = Index::new();
    let mut policy = policy.build();
    let mut worst = 0;
    for block in 0..300_000 / u32::from(shards) {
        insert(&index, key(block), shards, block * u32::from(shards));
        policy.insert(
            BlockId(block),
            block.wrapping_mul(0x9e37_79b9),
            None,
            u64::from(block),
        );
        if block > 20_000 && block % 1000 == 0 {
            let bytes = (index.memory_bytes() + policy.memory_bytes()) as u64;
            worst = worst.max(bytes.div_ceil(u64::from(block + 1) * u64::from(shards)));
        }
    }
    worst
}

#[test]
fn slot_record_and_all_metadata_take_at_most_178_bytes_a_page() {
    for policy in PolicyKind::ALL {
        for shards in [1, 2, 8] {
            let bytes = RECORD_BYTES + worst_bytes(policy, shards);
            assert!(
                bytes <= MAX_METADATA_BYTES,
                "{}, {shards} shards: {bytes} bytes a page",
                policy.name()
            );
        }
    }
}
