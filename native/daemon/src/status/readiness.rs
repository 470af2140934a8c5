//! Whether the daemon can do what it was started for.

use pegaflow_core::self_test::SelfTest;
use pegaflow_core::store::{PoolSnapshot, TierSnapshot};
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

impl State {
    /// Every state.
    pub(crate) const ALL: [Self; 4] = [Self::Starting, Self::Ready, Self::Degraded, Self::Draining];

    /// The word for documents and events.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Degraded => "degraded",
            Self::Draining => "draining",
        }
    }
}

impl Readiness {
    /// The daemon's readiness now.
    pub(crate) fn of(daemon: &Daemon) -> Self {
        let store = &daemon.store;
        Self::new(
            daemon.lifecycle.phase(),
            &store.pool_snapshot(),
            store.tier_snapshot().as_ref(),
            &daemon.self_tests(),
        )
    }

    pub(super) fn new(
        phase: Phase,
        pool: &PoolSnapshot,
        tier: Option<&TierSnapshot>,
        self_tests: &[SelfTest],
    ) -> Self {
        let paths = tier.into_iter().flat_map(|tier| &tier.ssd.paths);
        let of_paths = paths.filter_map(|path| {
            let reason = path.state.reason()?;
            let (path, state) = (path.dir.display(), path.state.name());
            Some(format!("ssd path {path} is {state}: {reason}"))
        });
        let reasons: Vec<String> = pool
            .degraded
            .iter()
            .cloned()
            .chain(of_paths)
            .chain(self_tests.iter().filter_map(SelfTest::problem))
            .collect();
        let state = match phase {
            Phase::Serving if !reasons.is_empty() => State::Degraded,
            Phase::Serving if pool.ready_bytes < pool.bytes => State::Starting,
            Phase::Serving => State::Ready,
            _ => State::Draining,
        };
        let ready_percent = 100.0 * pool.ready_bytes as f64 / pool.bytes.max(1) as f64;
        Self {
            state,
            ready_percent,
            reasons,
        }
    }
}
