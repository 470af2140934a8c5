//! Whether blocks are fetched: when that is faster than to compute them.

use std::time::{Duration, Instant};

use super::Tier;
use crate::sync::{Mutex, Ordering};

/// A rate that nothing was fetched at for so long is not believed.
const RATE_AGE_MOST: Duration = Duration::from_secs(10);

/// When something was last fetched.
#[derive(Debug, Default)]
pub(super) struct LastFetch(Mutex<Option<Instant>>);

impl LastFetch {
    /// Whether nobody fetched for a while; the caller does now.
    fn is_old(&self, now: Instant) -> bool {
        let mut last = self.0.lock();
        let is_old = last.is_none_or(|last| now.saturating_duration_since(last) > RATE_AGE_MOST);
        if is_old {
            *last = Some(now);
        }
        is_old
    }

    fn note(&self, now: Instant) {
        *self.0.lock() = Some(now);
    }
}

impl Tier {
    /// Whether to fetch so many bytes now, which saves to compute `blocks` of which each takes `recompute`.
    ///
    /// Counts `blocks` as declined if not. What is on its way already comes first; behind a disk that hangs nothing is worth it.
    pub(super) fn is_worth(
        &self,
        bytes: u64,
        blocks: usize,
        recompute: Option<Duration>,
        now: Instant,
    ) -> bool {
        let rate = self.ssd.rate().read;
        let load = self.fetches.load();
        let ahead = load.in_flight_bytes + load.queued_bytes;
        let is_stalled = load.is_stalled(now);
        let is_faster = recompute.is_none_or(|recompute| {
            let fetch_s = (ahead + bytes) as f64 / rate;
            fetch_s * self.min_benefit <= recompute.as_secs_f64() * blocks as f64
        });
        if !is_stalled && (rate <= 0.0 || is_faster) {
            self.last_fetch.note(now);
            return true;
        }
        if !is_stalled && self.last_fetch.is_old(now) {
            return true;
        }
        self.fetches
            .counts
            .declined
            .fetch_add(blocks as u64, Ordering::Relaxed);
        false
    }
}
