//! Leases: an engine's right to load blocks, with owner and expiry.
//!
//! A lease ends exactly once: when each of its ranks has loaded, by release, by expiry, or with its owner. Until then its
//! blocks stay cached and visible.

mod entry;
mod pass;
mod snapshot;
#[cfg(test)]
mod tests;

pub use pass::LoadPass;
pub use snapshot::LeaseSnapshot;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::store::Hits;
use crate::sync::{Arc, Mutex};
use entry::Lease;

/// How long a lease lasts unless it is renewed, where nothing else is said.
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

/// Why a lease ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Loaded,
    Released,
    Expired,
    Orphaned,
}

/// All leases of a daemon.
#[derive(Debug)]
pub struct LeaseTable {
    ttl: Duration,
    /// Never held while a lease's pins are taken back.
    leases: Mutex<Leases>,
}

#[derive(Debug, Default)]
struct Leases {
    by_id: HashMap<LeaseId, Lease>,
    by_owner: HashMap<SessionId, HashSet<LeaseId>>,
    /// Counters, and the gauges of blocks and bytes.
    counts: LeaseSnapshot,
}

impl Leases {
    /// Takes a lease out; the caller drops it when it holds no lock.
    fn end(&mut self, id: LeaseId, why: End) -> Option<Lease> {
        let lease = self.by_id.remove(&id)?;
        if let Some(owned) = self.by_owner.get_mut(&lease.owner) {
            owned.remove(&id);
            if owned.is_empty() {
                self.by_owner.remove(&lease.owner);
            }
        }
        let ended = match why {
            End::Loaded => &mut self.counts.loaded,
            End::Released => &mut self.counts.released,
            End::Expired => &mut self.counts.expired,
            End::Orphaned => &mut self.counts.orphaned,
        };
        *ended += 1;
        self.counts.leases -= 1;
        self.counts.blocks -= lease.hits.len() as u64;
        self.counts.bytes -= lease.hits.bytes();
        Some(lease)
    }

    /// The lease of this id, if it is this owner's.
    fn owned(&mut self, owner: SessionId, id: LeaseId) -> Option<&mut Lease> {
        self.by_id.get_mut(&id).filter(|lease| lease.owner == owner)
    }
}

impl LeaseTable {
    /// An empty table whose leases last [`LEASE_TTL`].
    pub fn new() -> Arc<Self> {
        Self::with_ttl(LEASE_TTL)
    }

    /// An empty table whose leases last this long unless they are renewed.
    pub fn with_ttl(ttl: Duration) -> Arc<Self> {
        Arc::new(Self {
            ttl,
            leases: Mutex::default(),
        })
    }

    /// Leases these blocks to `owner` until each of `loaders` ranks has loaded.
    ///
    /// # Errors
    /// `Invalid` without hits or loaders, `Limit` above [`LEASES_PER_OWNER`].
    pub fn grant(&self, owner: SessionId, hits: Hits, loaders: u32, now: Instant) -> Result<LeaseId> {
        if hits.is_empty() || loaders == 0 {
            let message = format!(
                "a lease of {} blocks for {loaders} ranks: both have to be above 0",
                hits.len()
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let mut leases = self.leases.lock();
        if leases
            .by_owner
            .get(&owner)
            .is_some_and(|owned| owned.len() >= LEASES_PER_OWNER)
        {
            drop(leases);
            let message = format!(
                "the session holds {LEASES_PER_OWNER} leases, which is the most: load or release some"
            );
            return Err(Error::new(ErrorKind::Limit, message));
        }
        leases.counts.granted += 1;
        leases.counts.leases += 1;
        leases.counts.blocks += hits.len() as u64;
        leases.counts.bytes += hits.bytes();
        let id = LeaseId(leases.counts.granted);
        let lease = Lease {
            owner,
            hits,
            loaders,
            begun: HashSet::new(),
            done: 0,
            granted: now,
            expires: now + self.ttl,
        };
        leases.by_id.insert(id, lease);
        leases.by_owner.entry(owner).or_default().insert(id);
        Ok(id)
    }

    /// Who holds the lease; None when it has ended.
    pub fn owner(&self, lease: LeaseId) -> Option<SessionId> {
        Some(self.leases.lock().by_id.get(&lease)?.owner)
    }

    /// Begins the one load of this rank: blocks `first..first + count` of the lease. With `has_more` it is a part of it, of which
    /// others come: the last one is without.
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
        has_more: bool,
    ) -> Result<LoadPass> {
        let mut leases = self.leases.lock();
        let Some(entry) = leases.by_id.get_mut(&lease) else {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("lease {lease} has ended: look the blocks up again"),
            ));
        };
        if rank >= entry.loaders {
            let message = format!(
                "rank {rank} does not load lease {lease}, which is for {} ranks",
                entry.loaders
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let (first, count) = (first as usize, count as usize);
        if first.saturating_add(count) > entry.hits.len() {
            let message = format!(
                "blocks {first} to {} are not all in lease {lease} of {} blocks",
                first + count,
                entry.hits.len()
            );
            return Err(Error::new(ErrorKind::Invalid, message));
        }
        let is_first = if has_more {
            !entry.begun.contains(&rank)
        } else {
            entry.begun.insert(rank)
        };
        if !is_first {
            let message = format!("rank {rank} has loaded lease {lease} already: look the blocks up again");
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        Ok(LoadPass {
            table: Arc::clone(self),
            lease,
            hits: entry.hits.clone(),
            first,
            count,
            is_last: !has_more,
        })
    }

    /// A rank's load is over, whatever came of it.
    fn end_load(&self, lease: LeaseId) {
        let ended = {
            let mut leases = self.leases.lock();
            let Some(entry) = leases.by_id.get_mut(&lease) else {
                return;
            };
            entry.done += 1;
            if entry.done < entry.loaders {
                return;
            }
            leases.end(lease, End::Loaded)
        };
        drop(ended);
    }

    /// Ends a lease of this owner; false when it had ended already or is another's.
    pub fn release(&self, owner: SessionId, lease: LeaseId) -> bool {
        let ended = {
            let mut leases = self.leases.lock();
            if leases.owned(owner, lease).is_none() {
                return false;
            }
            leases.end(lease, End::Released)
        };
        ended.is_some()
    }

    /// Extends a lease of this owner; false when it had ended already or is another's.
    pub fn renew(&self, owner: SessionId, lease: LeaseId, now: Instant) -> bool {
        let mut leases = self.leases.lock();
        let renewed = leases
            .owned(owner, lease)
            .map(|lease| lease.expires = now + self.ttl);
        renewed.is_some()
    }

    /// Ends the leases that are over by `now`; how many.
    pub fn expire(&self, now: Instant) -> usize {
        self.end_where(End::Expired, |leases| {
            let over = leases.by_id.iter().filter(|(_, lease)| lease.expires <= now);
            over.map(|(id, _)| *id).collect()
        })
    }

    /// Ends all leases of this owner; how many.
    pub fn end_owner(&self, owner: SessionId) -> usize {
        self.end_where(End::Orphaned, |leases| {
            leases
                .by_owner
                .get(&owner)
                .into_iter()
                .flatten()
                .copied()
                .collect()
        })
    }

    /// Counts for status and metrics.
    pub fn snapshot(&self, now: Instant) -> LeaseSnapshot {
        let leases = self.leases.lock();
        let oldest = leases
            .by_id
            .values()
            .map(|lease| now.saturating_duration_since(lease.granted))
            .max();
        LeaseSnapshot {
            oldest,
            ..leases.counts
        }
    }

    fn end_where(&self, why: End, choose: impl FnOnce(&Leases) -> Vec<LeaseId>) -> usize {
        let ended: Vec<_> = {
            let mut leases = self.leases.lock();
            let chosen = choose(&leases);
            chosen.into_iter().filter_map(|id| leases.end(id, why)).collect()
        };
        ended.len()
    }
}
