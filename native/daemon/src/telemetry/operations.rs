//! Operations on tiers and namespaces that have ended, by name and by how.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// Operations that have ended; clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct OperationMetrics(Family<[(&'static str, &'static str); 2], Counter>);

impl OperationMetrics {
    /// Names these metrics.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "pegaflow_operations",
            "Operations on tiers and namespaces that have ended, by how: done, cancelled, failed, or refused",
            self.0.clone(),
        );
    }

    /// Counts one that has ended.
    pub(crate) fn count(&self, operation: &'static str, result: &'static str) {
        self.0
            .get_or_create(&[("operation", operation), ("result", result)])
            .inc();
    }
}
