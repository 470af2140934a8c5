//! A histogram of how long blocks stay.

use std::time::Duration;

use crate::sync::{AtomicU64, Ordering};

/// Upper bounds of the buckets in seconds; one more bucket has the rest.
pub const AGE_BOUNDS_S: [f64; AGE_BUCKETS - 1] = [
    0.1,
    0.5,
    1.0,
    5.0,
    15.0,
    60.0,
    300.0,
    900.0,
    3_600.0,
    14_400.0,
    43_200.0,
    86_400.0,
    259_200.0,
    604_800.0,
    2_592_000.0,
];

/// Buckets of [`AgeCounts`].
pub const AGE_BUCKETS: usize = 16;

/// A histogram of ages.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AgeCounts {
    /// How many are in each bucket, not cumulated.
    pub buckets: [u64; AGE_BUCKETS],
    /// The sum of all of them.
    pub sum: Duration,
}

#[derive(Debug, Default)]
pub(super) struct Ages {
    buckets: [AtomicU64; AGE_BUCKETS],
    sum_us: AtomicU64,
}

impl Ages {
    pub(super) fn add(&self, age: Duration) {
        let seconds = age.as_secs_f64();
        let bucket = AGE_BOUNDS_S.iter().position(|bound| seconds <= *bound);
        if let Some(count) = self.buckets.get(bucket.unwrap_or(AGE_BUCKETS - 1)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.sum_us.fetch_add(age.as_micros() as u64, Ordering::Relaxed);
    }

    pub(super) fn load(&self) -> AgeCounts {
        AgeCounts {
            buckets: self.buckets.each_ref().map(|count| count.load(Ordering::Relaxed)),
            sum: Duration::from_micros(self.sum_us.load(Ordering::Relaxed)),
        }
    }
}
