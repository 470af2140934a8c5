//! What pools of other sizes would have hit, in the status document.

use pegaflow_core::CurvePoint;
use pegaflow_core::store::Store;
use serde::Serialize;

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
    /// It may be off by more than two points.
    pub(crate) is_rough: bool,
}

impl WhatIf {
    /// The points around the pool's size.
    pub(crate) fn of(store: &Store) -> Self {
        let curve = store.what_if();
        let mut what_if = Self {
            policy: curve.policy.name(),
            seen_blocks: curve.seen_blocks,
            sampled_blocks: curve.sampled_blocks,
            points: curve.points.iter().map(Point::of).collect(),
            suggested_pool_bytes: None,
        };
        what_if.suggested_pool_bytes = what_if.suggested().map(|point| point.pool_bytes);
        what_if
    }

    /// The least size that hits about as much as the best.
    pub(crate) fn suggested(&self) -> Option<&Point> {
        let percents = self.points.iter().map(|point| point.hit_percent);
        let most = percents.max_by(f64::total_cmp)?;
        self.points
            .iter()
            .find(|point| point.hit_percent + ABOUT_PERCENT >= most)
    }

    /// The policy of the pools.
    pub(crate) fn policy(&self) -> &'static str {
        self.policy
    }

    /// Each size with the percent of the blocks that it would have hit.
    pub(crate) fn points(&self) -> &[Point] {
        &self.points
    }
}

impl Point {
    fn of(point: &CurvePoint) -> Self {
        Self {
            pool_bytes: point.pool_bytes,
            hit_percent: (point.hit_part * 10_000.0).round() / 100.0,
            is_rough: point.is_rough,
        }
    }
}
