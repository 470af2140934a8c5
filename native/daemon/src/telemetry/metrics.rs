//! What the daemon counts by itself; what the store and the leases count is read at each scrape.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use super::blocks::BlockRequests;
use super::prefixes::HotPrefixes;
use super::recompute::Recompute;
use super::rpc::RpcMetrics;
use super::{Direction, Latency, OperationMetrics, TransferMetrics};

/// The daemon's own counters; clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metrics {
    pub(crate) blocks: BlockRequests,
    pub(crate) prefixes: HotPrefixes,
    pub(crate) recompute: Recompute,
    pub(crate) lookup_duration: Latency,
    /// Of the lookups that waited for slower tiers.
    pub(crate) fetch_duration: Latency,
    pub(crate) saves: TransferMetrics,
    pub(crate) loads: TransferMetrics,
    pub(crate) rpc: RpcMetrics,
    pub(crate) operations: OperationMetrics,
    /// How often engines gave up asking.
    pub(crate) breaker_openings: Counter,
    sessions_ended: Family<[(&'static str, &'static str); 1], Counter>,
}

impl Metrics {
    /// An engine session ended.
    pub(crate) fn count_session_end(&self, reason: &'static str) {
        self.sessions_ended.get_or_create(&[("reason", reason)]).inc();
    }

    /// Names all of them.
    pub(super) fn register(&self, registry: &mut Registry) {
        registry.register_collector(Box::new(self.blocks.clone()));
        registry.register(
            "pegaflow_lookup_duration_seconds",
            "How long the cache took to answer a lookup",
            self.lookup_duration.clone(),
        );
        registry.register(
            "pegaflow_fetch_duration_seconds",
            "How long lookups waited for blocks from slower tiers",
            self.fetch_duration.clone(),
        );
        self.saves.register(Direction::Save, registry);
        self.loads.register(Direction::Load, registry);
        self.rpc.register(registry);
        self.operations.register(registry);
        registry.register(
            "pegaflow_engine_breaker_openings",
            "How often engines went without the cache because lookups were not answered, as they told when they were again",
            self.breaker_openings.clone(),
        );
        registry.register(
            "pegaflow_engine_sessions_ended",
            "Engine sessions that ended, by reason",
            self.sessions_ended.clone(),
        );
    }
}
