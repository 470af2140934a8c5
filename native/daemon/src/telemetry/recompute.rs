//! Whether blocks are worth restoring: what it takes to compute one, as engines tell, and to bring one back from each tier.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::Serialize;

use super::scrape::Lines;
use crate::daemon::Daemon;

/// A lookup counts for so much of the mean.
const WEIGHT: f64 = 1.0 / 16.0;

/// What engines say that computing a block takes; clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recompute(Arc<Mutex<Option<Block>>>);

/// A block as lookups have them in the mean, the last ones most.
#[derive(Debug, Clone, Copy)]
struct Block {
    compute_s: f64,
    bytes: f64,
}

/// Seconds for a block; None where nothing is known.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Restore {
    recompute_block_s: Option<f64>,
    memory_block_s: Option<f64>,
    ssd_block_s: Option<f64>,
}

impl Recompute {
    /// A lookup for blocks of so many bytes told what computing one takes.
    pub(crate) fn told(&self, compute: Duration, bytes: u64) {
        let told = Block {
            compute_s: compute.as_secs_f64(),
            bytes: bytes as f64,
        };
        let mut mean = self.0.lock();
        let before = mean.unwrap_or(told);
        let towards = |from: f64, to: f64| from + (to - from) * WEIGHT;
        *mean = Some(Block {
            compute_s: towards(before.compute_s, told.compute_s),
            bytes: towards(before.bytes, told.bytes),
        });
    }
}

impl Restore {
    /// What this daemon knows now.
    pub(crate) fn of(daemon: &Daemon) -> Self {
        let metrics = &daemon.metrics;
        let block = *metrics.recompute.0.lock();
        let loaded = metrics.loads.copied_blocks.get();
        let read = daemon.store.ssd().map_or(0.0, |ssd| ssd.rate().read);
        Self {
            recompute_block_s: block.map(|block| block.compute_s),
            memory_block_s: (loaded > 0).then(|| metrics.loads.duration.sum_s() / loaded as f64),
            ssd_block_s: block.filter(|_| read > 0.0).map(|block| block.bytes / read),
        }
    }

    /// Writes the metrics of what is known.
    pub(super) fn encode(&self, lines: &mut Lines<'_, '_>) -> fmt::Result {
        if let Some(seconds) = self.recompute_block_s {
            lines.gauge(
                "pegaflow_recompute_block_seconds",
                "What computing a block takes, as engines tell in the mean",
                seconds,
            )?;
        }
        let tiers = [("memory", self.memory_block_s), ("ssd", self.ssd_block_s)];
        let known = tiers
            .into_iter()
            .filter_map(|(tier, seconds)| Some((tier.to_owned(), seconds?)));
        lines.gauges(
            "tier",
            "pegaflow_restore_block_seconds",
            "What bringing a block back takes: worth it where it is less than to compute one",
            known,
        )
    }
}
