//! Limiting the memory that a namespace takes.

use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::progress::Progress;
use serde::{Deserialize, Serialize};

use super::Operate;
use super::amount::Amount;
use super::namespace::{NamespacePrefix, name_of};
use crate::daemon::Daemon;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamespaceQuota {
    namespace: NamespacePrefix,
    /// Of the pool; null lifts the limit.
    #[serde(deserialize_with = "Option::deserialize")]
    quota: Option<Amount>,
}

#[derive(Debug, Serialize)]
pub(super) struct Limited {
    namespace: String,
    quota_bytes: Option<u64>,
}

impl Operate for NamespaceQuota {
    type Outcome = Limited;

    fn operate(&self, daemon: &Daemon, _progress: &Progress) -> Result<Limited> {
        let namespace = self.namespace.known_or_whole(daemon)?;
        let pool_bytes = daemon.store.pool_snapshot().bytes;
        let quota_bytes = self.quota.map(|quota| quota.of(pool_bytes));
        if let Some(bytes) = quota_bytes.filter(|&bytes| bytes > pool_bytes) {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "a quota of {bytes} bytes is more than the pool's {pool_bytes}: give at most that, or none for no limit"
                ),
            ));
        }
        daemon.store.set_quota(&namespace, quota_bytes)?;
        Ok(Limited {
            namespace: name_of(&namespace),
            quota_bytes,
        })
    }
}
