//! Ending an engine's sessions; its blocks stay.

use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::progress::Progress;
use serde::{Deserialize, Serialize};

use super::Operate;
use crate::daemon::Daemon;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EngineEvict {
    engine: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Evicted {
    engine: String,
    /// Its scheduler side and workers that were attached.
    sessions: usize,
    leases: usize,
}

impl Operate for EngineEvict {
    type Outcome = Evicted;

    fn operate(&self, daemon: &Daemon, _progress: &Progress) -> Result<Evicted> {
        let (sessions, leases) = daemon.sessions.evict(&self.engine);
        if sessions == 0 {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "engine {} is not attached: `pegaflow engine list` has those that are",
                    self.engine
                ),
            ));
        }
        Ok(Evicted {
            engine: self.engine.clone(),
            sessions,
            leases,
        })
    }
}
