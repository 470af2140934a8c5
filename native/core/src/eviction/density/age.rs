//! Time as the policy counts it: coarse moments, and ages in buckets that grow with age.

use crate::eviction::Tick;

/// Ages differ by bucket: four to each doubling, from a quarter of a second to 15 hours.
pub(super) const BUCKETS: usize = 72;
const STEP_BITS: u32 = 2;
/// A tick is a microsecond: a moment is 2^16 of them.
const MOMENT_BITS: u32 = 16;

/// Of blocks younger than so many moments ages hardly tell which came first.
pub(super) const YOUNG_MOMENTS: u32 = 8;

/// The moment of a tick: moments wrap around after 8.9 years.
pub(super) fn moment(tick: Tick) -> u32 {
    (tick >> MOMENT_BITS) as u32
}

/// The first tick of a moment of the first 8.9 years.
pub(super) fn tick(moment: u32) -> Tick {
    Tick::from(moment) << MOMENT_BITS
}

/// The bucket of an age in moments.
pub(super) fn bucket(age: u32) -> usize {
    let steps = 1 << STEP_BITS;
    if age < steps {
        return 0;
    }
    let doublings = age.ilog2() - STEP_BITS;
    let step = (age >> doublings) & (steps - 1);
    ((doublings * steps + step + 1) as usize).min(BUCKETS - 1)
}

/// The least age of a bucket, in moments.
pub(super) fn least_age(bucket: usize) -> u64 {
    let Some(above) = bucket.checked_sub(1) else {
        return 0;
    };
    let steps = 1 << STEP_BITS;
    (steps as u64 + (above % steps) as u64) << (above / steps)
}
