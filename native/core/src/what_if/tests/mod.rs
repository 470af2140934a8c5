//! Tests of the sampled curve: against caches of each size that are simulated block by block, and of its bounds.

mod bounds;
mod exact;
mod tally;

use super::{Sample, WhatIf};
use crate::eviction::PolicyKind;
use crate::simulate::{Requests, fingerprint};

const BLOCK_BYTES: u64 = 1 << 20;

fn fingerprints(blocks: &[u32]) -> Vec<u32> {
    blocks.iter().map(|block| fingerprint(*block)).collect()
}

/// A curve around a pool of so many blocks, with so many at most in each miniature.
fn what_if(kind: PolicyKind, pool_blocks: usize, most_blocks: usize) -> WhatIf {
    WhatIf::of(Sample::new(kind, pool_blocks as u64 * BLOCK_BYTES, most_blocks))
}

/// Has seen these requests, and counted each at once.
fn watch(what_if: &WhatIf, requests: &Requests) {
    for request in requests.iter() {
        what_if.asked(&fingerprints(request.blocks), BLOCK_BYTES, request.time_us);
        what_if.watched.count();
    }
}
