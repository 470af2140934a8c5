//! What saves and loads did.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::Latency;
use crate::session::Traffic;

/// Which way blocks go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// Engine to cache.
    Save,
    /// Cache to engine.
    Load,
}

impl Direction {
    /// The word for metrics and logs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Save => "save",
            Self::Load => "load",
        }
    }
}

type Labels = [(&'static str, &'static str); 1];

/// The saves or the loads of this daemon; clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct TransferMetrics {
    pub(crate) duration: Latency,
    pub(crate) failures: Counter,
    /// Blocks that were copied by transfers that ended well.
    pub(crate) copied_blocks: Counter,
    pub(crate) bytes: Counter,
    pub(crate) in_flight: Gauge,
    blocks: Family<Labels, Counter>,
}

impl TransferMetrics {
    /// Names these metrics for `direction`.
    pub(crate) fn register(&self, direction: Direction, registry: &mut Registry) {
        let what = direction.name();
        let registry = registry.sub_registry_with_prefix(format!("pegaflow_{what}"));
        let help = |of: &str| of.replace("{}", what);
        registry.register(
            "duration_seconds",
            help("How long each {} took that ended well"),
            self.duration.clone(),
        );
        registry.register(
            "failures",
            help("{}s that failed; the engine's own revokes are none"),
            self.failures.clone(),
        );
        registry.register(
            "bytes",
            help("Bytes copied by {}s that ended well"),
            self.bytes.clone(),
        );
        registry.register(
            "blocks",
            help("Blocks of {}s, by what became of them"),
            self.blocks.clone(),
        );
        registry.register("in_flight", help("{}s under way"), self.in_flight.clone());
    }

    /// A transfer of so many blocks of an engine begins; it is under way until what this returns is dropped.
    pub(crate) fn begin(&self, blocks: usize, traffic: &Arc<Traffic>, of: Direction) -> InFlight {
        self.in_flight.inc();
        InFlight {
            metrics: self.clone(),
            traffic: Arc::clone(traffic),
            of,
            began: Instant::now(),
            uncounted_blocks: blocks as u64,
            has_failed: true,
        }
    }
}

/// One transfer under way. Dropped before its end it is a failure, and its blocks that were not counted have failed.
#[derive(Debug)]
pub(crate) struct InFlight {
    metrics: TransferMetrics,
    traffic: Arc<Traffic>,
    of: Direction,
    began: Instant,
    uncounted_blocks: u64,
    has_failed: bool,
}

impl InFlight {
    /// This became of so many of its blocks.
    pub(crate) fn count(&mut self, result: &'static str, blocks: u64) {
        self.uncounted_blocks = self.uncounted_blocks.saturating_sub(blocks);
        self.metrics
            .blocks
            .get_or_create(&[("result", result)])
            .inc_by(blocks);
    }

    /// It ended well, with so many blocks and bytes copied.
    pub(crate) fn succeed(mut self, blocks: u64, bytes: u64) -> Duration {
        let took = self.began.elapsed();
        self.metrics.duration.observe(took);
        self.metrics.copied_blocks.inc_by(blocks);
        self.metrics.bytes.inc_by(bytes);
        self.traffic.of(self.of).succeed(blocks, bytes);
        self.has_failed = false;
        took
    }

    /// The engine took its leave of all these blocks back, as it does when a request is aborted.
    pub(crate) fn revoked(mut self, blocks: u64) {
        self.count("revoked", blocks);
        self.has_failed = false;
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.metrics.in_flight.dec();
        if self.has_failed {
            self.metrics.failures.inc();
            self.traffic.of(self.of).fail();
            self.count("failed", self.uncounted_blocks);
        }
    }
}
