//! Evicting on request, instead of because room is needed.

use super::Store;
use crate::error::{Error, ErrorKind, Result};
use crate::progress::Progress;

/// What an eviction on request did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Evicted {
    /// Blocks that went.
    pub blocks: u64,
    /// Bytes of their pages.
    pub bytes: u64,
    /// Blocks that were to go and stay, because they are in use.
    pub kept_blocks: u64,
    /// Bytes of their pages.
    pub kept_bytes: u64,
}

impl Store {
    /// Evicts at least this many bytes from memory, the coldest blocks first; None: all that can go.
    ///
    /// Blocks in use and blocks of pinned namespaces stay.
    ///
    /// # Errors
    /// None yet.
    pub fn evict_memory(&self, bytes: Option<u64>, progress: &Progress) -> Result<Evicted> {
        let _ = (bytes, progress);
        Err(not_built())
    }

    /// Evicts all blocks of a namespace from memory, also of a pinned one; blocks in use stay.
    ///
    /// # Errors
    /// `NotFound` for a namespace that the store does not know.
    pub fn evict_namespace(&self, namespace: &[u8; 32], progress: &Progress) -> Result<Evicted> {
        let _ = (namespace, progress);
        Err(not_built())
    }
}

pub(super) fn not_built() -> Error {
    Error::new(ErrorKind::Invalid, "this is not built yet")
}
