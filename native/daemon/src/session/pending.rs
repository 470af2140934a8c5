//! Lookups that wait for blocks from slower tiers, between one call that asks for them and the next.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use pegaflow_core::lease::SessionId;
use pegaflow_core::store::PendingLookup;

/// A lookup that nobody asks for again within this time has ended.
const ASKED_WITHIN: Duration = Duration::from_secs(2);

/// The lookups that wait, by their session and the number that it gave them.
///
/// What leaves the table is dropped after the lock is let go: it takes reads of disks back.
#[derive(Debug, Default)]
pub(crate) struct PendingLookups {
    waiting: Mutex<HashMap<(SessionId, u64), Waiting>>,
}

#[derive(Debug)]
struct Waiting {
    hashes: Bytes,
    lookup: PendingLookup,
    asked: Instant,
}

impl PendingLookups {
    /// The lookup of this number, if it is of these hashes; another one of the number has ended.
    pub(crate) fn take(&self, session: SessionId, id: u64, hashes: &Bytes) -> Option<PendingLookup> {
        let waiting = self.waiting.lock().remove(&(session, id))?;
        (waiting.hashes == *hashes).then_some(waiting.lookup)
    }

    /// Keeps a lookup for the next call that asks for it.
    pub(crate) fn put(&self, session: SessionId, id: u64, hashes: Bytes, lookup: PendingLookup) {
        let waiting = Waiting {
            hashes,
            lookup,
            asked: Instant::now(),
        };
        let before = self.waiting.lock().insert((session, id), waiting);
        drop(before);
    }

    /// Nobody asks for this lookup again.
    pub(crate) fn end(&self, session: SessionId, id: u64) {
        let ended = self.waiting.lock().remove(&(session, id));
        drop(ended);
    }

    /// Ends all lookups of a session.
    pub(crate) fn end_owner(&self, session: SessionId) {
        self.end_where(|(owner, _), _| *owner == session);
    }

    /// Ends those that nobody asked for lately; how many.
    pub(crate) fn expire(&self, now: Instant) -> usize {
        self.end_where(|_, waiting| now.saturating_duration_since(waiting.asked) > ASKED_WITHIN)
    }

    /// How many wait.
    pub(crate) fn count(&self) -> usize {
        self.waiting.lock().len()
    }

    fn end_where(&self, is_over: impl Fn(&(SessionId, u64), &Waiting) -> bool) -> usize {
        let ended: Vec<_> = self
            .waiting
            .lock()
            .extract_if(|key, waiting| is_over(key, waiting))
            .collect();
        ended.len()
    }
}
