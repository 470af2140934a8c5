//! A slow look at all pages, again and again, for bytes that changed in memory.

use std::time::{Duration, Instant};

use super::{Store, Verify};
use crate::pool::Slot;
use crate::sync::Ordering;

/// The pages of this much time are looked at in one go, so that the thread seldom wakes up.
const PAUSE: Duration = Duration::from_secs(10);

/// How far the look is.
#[derive(Debug)]
pub(super) struct Scrub {
    period: Duration,
    /// Where the next page is at the earliest.
    next: Slot,
    /// Pages that are due now.
    owed: u64,
    /// When more will be.
    due: Instant,
}

impl Scrub {
    pub(super) fn new(period: Duration, now: Instant) -> Self {
        let mut scrub = Self {
            period,
            next: Slot(0),
            owed: 0,
            due: now,
        };
        scrub.due += scrub.pause();
        scrub
    }

    /// When the next look is due; None while there is nothing to look at.
    pub(super) fn due(&self, store: &Store) -> Option<Instant> {
        (store.verify != Verify::Off && store.pool.used_pages() > 0).then_some(self.due)
    }

    /// Looks at one page that is due, and sees when the next one is.
    pub(super) fn look(&mut self, store: &Store, now: Instant) {
        if self.owed == 0 {
            self.owed = self.pages_of_a_pause(store.pool.used_pages());
        }
        self.owed -= 1;
        match store.pool.next_taken(self.next) {
            Some(slot) => {
                store.scrub(slot);
                self.next = Slot(slot.0 + 1);
            }
            None => {
                self.next = Slot(0);
                store.counts.scrub_rounds.fetch_add(1, Ordering::Relaxed);
            }
        }
        if self.owed == 0 {
            self.due = now + self.pause();
        }
    }

    fn pause(&self) -> Duration {
        PAUSE.min(self.period)
    }

    /// All pages within the period, but at least one a second.
    fn pages_of_a_pause(&self, all: u64) -> u64 {
        let pause = self.pause().as_secs_f64();
        let share = pause / self.period.as_secs_f64().max(pause);
        (all as f64 * share).max(pause).ceil() as u64
    }
}

impl Store {
    fn scrub(&self, slot: Slot) {
        self.inspect(slot, |space, block, record, page| {
            self.compare(space, block, slot, record, page);
            self.counts.scrubbed_pages.fetch_add(1, Ordering::Relaxed);
        });
    }
}
