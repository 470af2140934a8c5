//! Whether the daemon can do what it was started for.

use pegaflow_core::store::PoolSnapshot;
use serde::Serialize;

use crate::daemon::Daemon;
use crate::lifecycle::Phase;

/// Whether the daemon can do what it was started for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Readiness {
    pub(crate) state: State,
    /// How much of the pool can hold pages.
    pub(crate) ready_percent: f64,
    /// Why it is degraded, a sentence each.
    pub(crate) reasons: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    Starting,
    Ready,
    Degraded,
    Draining,
}

impl Readiness {
    /// The daemon's readiness now.
    pub(crate) fn of(daemon: &Daemon) -> Self {
        Self::new(daemon.lifecycle.phase(), &daemon.store.pool_snapshot())
    }

    pub(super) fn new(phase: Phase, pool: &PoolSnapshot) -> Self {
        let state = match (phase, &pool.degraded) {
            (Phase::Serving, Some(_)) => State::Degraded,
            (Phase::Serving, None) if pool.ready_bytes < pool.bytes => State::Starting,
            (Phase::Serving, None) => State::Ready,
            _ => State::Draining,
        };
        let ready_percent = 100.0 * pool.ready_bytes as f64 / pool.bytes.max(1) as f64;
        Self {
            state,
            ready_percent,
            reasons: pool.degraded.iter().cloned().collect(),
        }
    }
}
