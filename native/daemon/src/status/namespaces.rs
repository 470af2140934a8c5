//! What is cached for whom, in the status document.

use std::collections::BTreeMap;

use pegaflow_core::ssd::SsdSpace;
use pegaflow_core::store::{NamespaceSnapshot, SpaceSnapshot};
use serde::Serialize;

use crate::operation::name_of;

/// One cache group of a namespace.
#[derive(Debug, Default, Serialize)]
pub(super) struct Namespace {
    namespace: String,
    group: u32,
    blocks: u64,
    bytes: u64,
    hits: u64,
    misses: u64,
    admissions: u64,
    evictions: u64,
    ssd_blocks: u64,
    ssd_bytes: u64,
    pinned: bool,
    quota_bytes: Option<u64>,
}

impl Namespace {
    /// All that have blocks in some tier, are in use, pinned or limited; the latter two as group 0 when they have no other.
    pub(super) fn all(
        memory: &[SpaceSnapshot],
        ssd: &[SsdSpace],
        namespaces: &[NamespaceSnapshot],
    ) -> Vec<Self> {
        let mut found: BTreeMap<([u8; 32], u32), Self> = BTreeMap::new();
        for space in memory {
            let row = Self::in_memory(space);
            found.insert((space.key.namespace, space.key.group), row);
        }
        for space in ssd {
            let (namespace, group) = (space.key.namespace, space.key.group);
            let row = found
                .entry((namespace, group))
                .or_insert_with(|| Self::empty(&namespace, group));
            row.ssd_blocks = space.blocks;
            row.ssd_bytes = space.bytes;
        }
        for of in namespaces {
            let groups = (of.namespace, 0)..=(of.namespace, u32::MAX);
            if found.range(groups.clone()).next().is_none() {
                found.insert((of.namespace, 0), Self::empty(&of.namespace, 0));
            }
            for (_, row) in found.range_mut(groups) {
                row.pinned = of.is_pinned;
                row.quota_bytes = of.quota_bytes;
            }
        }
        found.into_values().collect()
    }

    fn in_memory(space: &SpaceSnapshot) -> Self {
        Self {
            blocks: space.blocks,
            bytes: space.bytes,
            hits: space.hits,
            misses: space.misses,
            admissions: space.admissions,
            evictions: space.evictions,
            ..Self::empty(&space.key.namespace, space.key.group)
        }
    }

    fn empty(namespace: &[u8; 32], group: u32) -> Self {
        Self {
            namespace: name_of(namespace),
            group,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests;
