//! Evicting all blocks of a namespace.

use pegaflow_core::error::{ErrorKind, Result};
use pegaflow_core::progress::Progress;
use pegaflow_core::store;
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
    ssd_blocks: u64,
    ssd_bytes: u64,
    kept_blocks: u64,
    kept_bytes: u64,
}

impl Operate for NamespaceEvict {
    type Outcome = Evicted;

    fn operate(&self, daemon: &Daemon, progress: &Progress) -> Result<Evicted> {
        let namespace = self.namespace.known(daemon)?;
        let (ssd_blocks, ssd_bytes) = evict_from_ssd(daemon, &namespace);
        let evicted = match daemon.store.evict_namespace(&namespace, progress) {
            Err(error) if error.kind() == ErrorKind::NotFound => store::Evicted::default(),
            evicted => evicted?,
        };
        Ok(Evicted {
            namespace: name_of(&namespace),
            blocks: evicted.blocks,
            bytes: evicted.bytes,
            ssd_blocks,
            ssd_bytes,
            kept_blocks: evicted.kept_blocks,
            kept_bytes: evicted.kept_bytes,
        })
    }
}

/// Takes the namespace out of the ssd tier, if there is one: blocks and bytes that went.
fn evict_from_ssd(daemon: &Daemon, namespace: &[u8; 32]) -> (u64, u64) {
    let Some(ssd) = daemon.store.ssd() else {
        return (0, 0);
    };
    let spaces = ssd.spaces().into_iter();
    spaces
        .filter(|space| space.key.namespace == *namespace)
        .map(|space| ssd.remove_space(space.id))
        .fold((0, 0), |(blocks, bytes), gone| {
            (blocks + gone.blocks, bytes + gone.bytes)
        })
}
