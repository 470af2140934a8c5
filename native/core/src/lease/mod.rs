//! Leases: an engine's right to load blocks, with owner and expiry.

mod pass;
mod snapshot;

pub use pass::LoadPass;
pub use snapshot::LeaseSnapshot;

use std::fmt;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::store::Hits;
use crate::sync::Arc;

/// How long a lease lasts unless it is renewed.
pub const LEASE_TTL: Duration = Duration::from_secs(600);
/// Most leases of one owner.
pub const LEASES_PER_OWNER: usize = 65_536;

/// Names an engine session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub u64);

/// Names a lease of this boot; never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeaseId(pub u64);

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// All leases of a daemon.
#[derive(Debug, Default)]
pub struct LeaseTable {}

impl LeaseTable {
    /// An empty table.
    pub fn new() -> Arc<Self> {
        Arc::new(Self::default())
    }

    /// Leases these blocks to `owner` until each of `loaders` ranks has loaded.
    ///
    /// # Errors
    /// `Invalid` without hits or loaders, `Limit` above [`LEASES_PER_OWNER`].
    pub fn grant(&self, owner: SessionId, hits: Hits, loaders: u32, now: Instant) -> Result<LeaseId> {
        let _ = (owner, hits, loaders, now);
        Ok(LeaseId(1))
    }

    /// Who holds the lease; None when it has ended.
    pub fn owner(&self, lease: LeaseId) -> Option<SessionId> {
        let _ = lease;
        None
    }

    /// Begins the one load of this rank: blocks `first..first + count` of the lease.
    ///
    /// # Errors
    /// `NotFound` for a lease that has ended, `Conflict` for a rank that has begun already,
    /// `Invalid` for a rank or run that the lease does not have: nothing changes.
    pub fn begin_load(
        self: &Arc<Self>,
        lease: LeaseId,
        rank: u32,
        first: u32,
        count: u32,
    ) -> Result<LoadPass> {
        let _ = (rank, first, count);
        Err(Error::new(
            ErrorKind::NotFound,
            format!("lease {lease} has ended"),
        ))
    }

    /// Ends a lease of this owner; false when it had ended already or is another's.
    pub fn release(&self, owner: SessionId, lease: LeaseId) -> bool {
        let _ = (owner, lease);
        false
    }

    /// Extends a lease of this owner; false when it had ended already or is another's.
    pub fn renew(&self, owner: SessionId, lease: LeaseId, now: Instant) -> bool {
        let _ = (owner, lease, now);
        false
    }

    /// Ends the leases that are over by `now`; how many.
    pub fn expire(&self, now: Instant) -> usize {
        let _ = now;
        0
    }

    /// Ends all leases of this owner; how many.
    pub fn end_owner(&self, owner: SessionId) -> usize {
        let _ = owner;
        0
    }

    /// Counts for status and metrics.
    pub fn snapshot(&self, now: Instant) -> LeaseSnapshot {
        let _ = now;
        LeaseSnapshot::default()
    }
}
