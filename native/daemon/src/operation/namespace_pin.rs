//! Pinning a namespace, and taking the pin back.

use pegaflow_core::error::Result;
use pegaflow_core::progress::Progress;
use serde::{Deserialize, Serialize};

use super::Operate;
use super::namespace::{NamespacePrefix, name_of};
use crate::daemon::Daemon;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamespacePin {
    namespace: NamespacePrefix,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamespaceUnpin {
    namespace: NamespacePrefix,
}

#[derive(Debug, Serialize)]
pub(super) struct Pinned {
    namespace: String,
    pinned: bool,
}

impl Operate for NamespacePin {
    type Outcome = Pinned;

    fn operate(&self, daemon: &Daemon, _progress: &Progress) -> Result<Pinned> {
        let namespace = self.namespace.known_or_whole(daemon)?;
        daemon.store.pin_namespace(&namespace)?;
        Ok(Pinned {
            namespace: name_of(&namespace),
            pinned: true,
        })
    }
}

impl Operate for NamespaceUnpin {
    type Outcome = Pinned;

    fn operate(&self, daemon: &Daemon, _progress: &Progress) -> Result<Pinned> {
        let namespace = self.namespace.known_or_whole(daemon)?;
        daemon.store.unpin_namespace(&namespace)?;
        Ok(Pinned {
            namespace: name_of(&namespace),
            pinned: false,
        })
    }
}
