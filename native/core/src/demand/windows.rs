//! How much of what was asked for had been asked for before, within a quarter of an hour, an hour and a day.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use super::distinct::Distinct;

const MINUTE_S: u64 = 60;
/// Each window has so many slices that are over, and one that is not.
const SLICES: usize = 15;
const WINDOWS_S: [u64; 3] = [15 * MINUTE_S, 60 * MINUTE_S, 24 * 60 * MINUTE_S];

/// What an endless cache would have hit that was empty when a window began.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ceiling {
    /// The length of the window, which begins up to a fifteenth of it earlier.
    pub window: Duration,
    /// Blocks that were asked for.
    pub requested: u64,
    /// About how many different ones: exactly while they are few.
    pub distinct: u64,
}

impl Ceiling {
    /// The part that had been asked for before; None of nothing.
    pub fn part(&self) -> Option<f64> {
        let again = self.requested.saturating_sub(self.distinct);
        (self.requested > 0).then(|| again as f64 / self.requested as f64)
    }
}

/// Lookups go to the minute that goes on, which comes to all windows when it is over.
#[derive(Debug, Default)]
pub(super) struct Windows {
    minute: u64,
    current: Slice,
    windows: [Window; WINDOWS_S.len()],
}

#[derive(Debug, Default)]
struct Window {
    past: VecDeque<Slice>,
    current: Slice,
}

#[derive(Debug, Clone, Default)]
struct Slice {
    requested: u64,
    distinct: Distinct,
}

impl Slice {
    fn merge(&mut self, other: &Self) {
        self.requested += other.requested;
        self.distinct.merge(&other.distinct);
    }
}

impl Windows {
    pub(super) fn see(&mut self, fingerprints: &[u32], now: Duration) {
        self.pass(now);
        self.current.requested += fingerprints.len() as u64;
        self.current.distinct.add(fingerprints);
    }

    pub(super) fn ceilings(&mut self, now: Duration) -> Vec<Ceiling> {
        self.pass(now);
        let ceiling = |(window, seconds): (&Window, u64)| {
            let mut all = self.current.clone();
            all.merge(&window.current);
            window.past.iter().for_each(|slice| all.merge(slice));
            Ceiling {
                window: Duration::from_secs(seconds),
                requested: all.requested,
                // No more than were asked for, whatever the estimate is.
                distinct: (all.distinct.count().round() as u64).min(all.requested),
            }
        };
        self.windows.iter().zip(WINDOWS_S).map(ceiling).collect()
    }

    /// Lets minutes and slices end.
    fn pass(&mut self, now: Duration) {
        let minute = now.as_secs() / MINUTE_S;
        if minute == self.minute {
            return;
        }
        let ended = mem::take(&mut self.current);
        for (window, seconds) in self.windows.iter_mut().zip(WINDOWS_S) {
            window.current.merge(&ended);
            let slice_minutes = seconds / MINUTE_S / SLICES as u64;
            let ends = (minute / slice_minutes).saturating_sub(self.minute / slice_minutes);
            // More of them than a window has leave it empty.
            for _ in 0..ends.min(SLICES as u64 + 1) {
                window.past.push_front(mem::take(&mut window.current));
                window.past.truncate(SLICES);
            }
        }
        self.minute = minute;
    }
}
