//! What pools of other sizes would have hit, in the status document.

use pegaflow_core::store::Store;
use serde::Serialize;

/// Sizes of the pool that are looked at, in eighths of what it is.
const EIGHTHS: [u64; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// Hit rates that differ by no more of all blocks are about the same.
const ABOUT_PERCENT: f64 = 1.0;

#[derive(Debug, Serialize)]
pub(crate) struct WhatIf {
    policy: &'static str,
    seen_blocks: u64,
    sampled_blocks: u64,
    /// None of them before a block was asked for.
    points: Vec<Point>,
    suggested_pool_bytes: Option<u64>,
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
        let mut what_if = Self {
            policy: "lru",
            seen_blocks: curve.seen_blocks,
            sampled_blocks: curve.sampled_blocks,
            points: points
                .map(|(pool_bytes, part)| Point {
                    pool_bytes,
                    hit_percent: (part * 10_000.0).round() / 100.0,
                })
                .collect(),
            suggested_pool_bytes: None,
        };
        what_if.suggested_pool_bytes = what_if.suggested().map(|point| point.pool_bytes);
        what_if
    }

    /// The least size that hits about as much as the largest.
    pub(crate) fn suggested(&self) -> Option<&Point> {
        let most = self.points.last()?.hit_percent;
        self.points
            .iter()
            .find(|point| point.hit_percent + ABOUT_PERCENT >= most)
    }

    /// Each size with the percent of the blocks that it would have hit.
    pub(crate) fn points(&self) -> &[Point] {
        &self.points
    }
}
