//! Namespaces: what operators see and set of the spaces of one model and layout.

use std::collections::BTreeMap;

use super::Store;
use super::evict::not_built;
use crate::error::Result;

/// Pinned namespaces keep at most this share of the pool; what they have beyond it can be evicted like all else.
pub const PINNED_PERCENT: u64 = 75;

/// A namespace's part of the memory tier.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamespaceSnapshot {
    /// SHA-256 of model, layout and parallel sizes.
    pub namespace: [u8; 32],
    /// Visible blocks of all its cache groups.
    pub blocks: u64,
    /// Bytes of the pages of visible blocks.
    pub bytes: u64,
    /// Blocks that lookups found.
    pub hits: u64,
    /// Blocks that lookups asked for and did not find.
    pub misses: u64,
    /// Blocks that became visible.
    pub admissions: u64,
    /// Blocks evicted.
    pub evictions: u64,
    /// Its blocks are not evicted when others need room.
    pub is_pinned: bool,
    /// The most bytes of memory that it takes, if there is a limit.
    pub quota_bytes: Option<u64>,
}

impl Store {
    /// The namespaces that have blocks, are in use, or are pinned or limited; in the order of their bytes.
    pub fn namespaces(&self) -> Vec<NamespaceSnapshot> {
        let mut namespaces: BTreeMap<[u8; 32], NamespaceSnapshot> = BTreeMap::new();
        for space in self.snapshot().spaces {
            let namespace = namespaces.entry(space.key.namespace).or_default();
            namespace.namespace = space.key.namespace;
            namespace.blocks += space.blocks;
            namespace.bytes += space.bytes;
            namespace.hits += space.hits;
            namespace.misses += space.misses;
            namespace.admissions += space.admissions;
            namespace.evictions += space.evictions;
        }
        namespaces.into_values().collect()
    }

    /// Keeps the blocks of a namespace from eviction by others' need, up to [`PINNED_PERCENT`] of the pool for all pinned ones.
    /// Outlives the daemon, as its pool does. A namespace that the store does not know yet can be pinned.
    ///
    /// # Errors
    /// `Limit` when too many namespaces are pinned or limited, `NoSpace` or `Io` when that cannot be kept for the next daemon.
    pub fn pin_namespace(&self, namespace: &[u8; 32]) -> Result<()> {
        let _ = namespace;
        Err(not_built())
    }

    /// Takes a pin back; nothing to do for one that is not pinned.
    ///
    /// # Errors
    /// As [`Store::pin_namespace`].
    pub fn unpin_namespace(&self, namespace: &[u8; 32]) -> Result<()> {
        let _ = namespace;
        Err(not_built())
    }

    /// Limits the memory that a namespace takes, or lifts the limit. What it has beyond goes at once, its coldest blocks first,
    /// unless it is in use; saves to a full namespace evict its own blocks. Outlives the daemon, as its pool does.
    ///
    /// # Errors
    /// As [`Store::pin_namespace`].
    pub fn set_quota(&self, namespace: &[u8; 32], bytes: Option<u64>) -> Result<()> {
        let _ = (namespace, bytes);
        Err(not_built())
    }
}
