//! Pauses of threads that wait for something that comes soon.

use std::future::poll_fn;
use std::num::NonZeroU64;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

/// No copy engine is slower than this on large runs.
const BYTES_PER_MICROSECOND: u64 = 40_000;
/// What a call needs beside the copies.
const CALL: Duration = Duration::from_micros(300);
/// Longer waits are worth a sleep.
const LONGEST: Duration = Duration::from_millis(5);
/// What a GPU needs to come to a point of an idle stream.
const SETTLING: Duration = Duration::from_micros(50);

/// Has the kernel wake this thread from a pause when it is over, not up to 50 us later.
pub fn be_exact() {
    // A kernel that refuses lets pauses be as long as they were.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).ok();
}

/// How long an answer that has to wait for copies of so many bytes is worth staying awake for.
pub fn of_copies(bytes: u64) -> Duration {
    (CALL + Duration::from_micros(bytes / BYTES_PER_MICROSECOND)).min(LONGEST)
}

/// Awaits; until `patience` has passed the thread does not sleep, since waking it takes as long as copying some blocks. It does
/// where the end cannot be near: `is_near` says so, once it has had time to become true.
pub async fn awake<F: Future>(future: F, patience: Duration, is_near: impl Fn() -> bool) -> F::Output {
    let mut future = pin!(future);
    let begun = Instant::now();
    poll_fn(|context| {
        let polled = future.as_mut().poll(context);
        let waited = begun.elapsed();
        if polled.is_pending() && waited < patience && (waited < SETTLING || is_near()) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        polled
    })
    .await
}

/// Asks again and again whether something has ended, without a sleep, for `patience` at most; whether it has.
pub async fn until(has_ended: impl Fn() -> bool, patience: Duration) -> bool {
    let begun = Instant::now();
    poll_fn(|context| {
        if has_ended() {
            return Poll::Ready(true);
        }
        if begun.elapsed() >= patience {
            return Poll::Ready(false);
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

#[cfg(test)]
mod tests;
