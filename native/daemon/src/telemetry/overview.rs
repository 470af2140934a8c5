//! What operators ask first, in `/metrics`: how the daemon is, how much happened to it, and what namespaces may take.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::metrics::MetricType;

use super::blocks::entry;
use super::scrape::Lines;
use crate::daemon::Daemon;
use crate::status::{Readiness, State};

/// Writes the daemon's state, its events, and the quotas of namespaces.
pub(super) fn encode(daemon: &Daemon, lines: &mut Lines<'_, '_>) -> fmt::Result {
    let now = Readiness::of(daemon).state;
    lines.by(
        "state",
        "pegaflow_state",
        "1 for the state that the daemon is in, 0 for the others",
        MetricType::Gauge,
        State::ALL.map(|state| (state.name().to_owned(), u64::from(state == now))),
    )?;
    lines.counter(
        "pegaflow_events",
        "Events since the daemon's start",
        daemon.events.last(),
    )?;
    let mut quotas: BTreeMap<String, u64> = BTreeMap::new();
    for namespace in daemon.store.namespaces() {
        if let Some(bytes) = namespace.quota_bytes {
            *entry(&mut quotas, &namespace.namespace) += bytes;
        }
    }
    lines.by(
        "namespace",
        "pegaflow_namespace_quota_bytes",
        "Bytes of memory that a namespace may take, where that is limited",
        MetricType::Gauge,
        quotas,
    )
}
