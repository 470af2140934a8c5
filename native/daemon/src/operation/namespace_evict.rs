//! Evicting all blocks of a namespace.

use pegaflow_core::error::Result;
use pegaflow_core::progress::Progress;
use serde::{Deserialize, Serialize};

use super::Operate;
use super::namespace::{NamespacePrefix, name_of};
use crate::daemon::Daemon;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamespaceEvict {
    namespace: NamespacePrefix,
}

#[derive(Debug, Serialize)]
pub(super) struct Evicted {
    namespace: String,
    blocks: u64,
    bytes: u64,
    kept_blocks: u64,
    kept_bytes: u64,
}

impl Operate for NamespaceEvict {
    type Outcome = Evicted;

    fn operate(&self, daemon: &Daemon, progress: &Progress) -> Result<Evicted> {
        let namespace = self.namespace.known(daemon)?;
        let evicted = daemon.store.evict_namespace(&namespace, progress)?;
        Ok(Evicted {
            namespace: name_of(&namespace),
            blocks: evicted.blocks,
            bytes: evicted.bytes,
            kept_blocks: evicted.kept_blocks,
            kept_bytes: evicted.kept_bytes,
        })
    }
}
