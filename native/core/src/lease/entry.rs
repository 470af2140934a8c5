//! One lease.

use std::collections::HashSet;
use std::time::Instant;

use super::SessionId;
use crate::store::Hits;

/// A lease that has not ended.
#[derive(Debug)]
pub(super) struct Lease {
    pub(super) owner: SessionId,
    pub(super) hits: Hits,
    /// Ranks below this load.
    pub(super) loaders: u32,
    /// Ranks that have begun to load.
    pub(super) begun: HashSet<u32>,
    /// How many of them have ended.
    pub(super) done: u32,
    pub(super) granted: Instant,
    pub(super) expires: Instant,
}
