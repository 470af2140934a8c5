//! What pools of other sizes would have hit, in the status document.

use pegaflow_core::store::Store;
use serde::Serialize;

/// Sizes of the pool that are looked at, in eighths of what it is.
const EIGHTHS: [u64; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

#[derive(Debug, Serialize)]
pub(crate) struct WhatIf {
    policy: &'static str,
    seen_blocks: u64,
    sampled_blocks: u64,
    /// None of them before a block was asked for.
    points: Vec<Point>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Point {
    pub(crate) pool_bytes: u64,
    pub(crate) hit_percent: f64,
}

impl WhatIf {
    /// The points around this size of the pool.
    pub(crate) fn of(store: &Store, pool_bytes: u64) -> Self {
        let sizes = EIGHTHS.map(|eighths| pool_bytes.saturating_mul(eighths) / 8);
        let curve = store.what_if(&sizes);
        let points = sizes.into_iter().zip(curve.hit_parts);
        Self {
            policy: "lru",
            seen_blocks: curve.seen_blocks,
            sampled_blocks: curve.sampled_blocks,
            points: points
                .map(|(pool_bytes, part)| Point {
                    pool_bytes,
                    hit_percent: (part * 10_000.0).round() / 100.0,
                })
                .collect(),
        }
    }

    /// Each size with the percent of the blocks that it would have hit.
    pub(crate) fn points(&self) -> &[Point] {
        &self.points
    }
}
