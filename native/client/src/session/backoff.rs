//! How long to wait before the next attempt to attach.

use std::time::Duration;

use rand::Rng;

const FIRST: Duration = Duration::from_millis(10);
/// A daemon that is back is found within this and a connect: below the 3 s that are promised.
const LONGEST: Duration = Duration::from_secs(1);
/// A daemon that refused a session is not asked again at once.
const REFUSED: Duration = Duration::from_secs(2);

/// Doubling delays, each shortened at random by up to a half so that engines do not come in step.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { next: FIRST }
    }

    /// The delay after a session that lasted for `age`: short, unless sessions end as soon as they open.
    pub(crate) fn after_session(&mut self, age: Duration) -> Duration {
        if age >= LONGEST {
            self.next = FIRST;
        }
        self.unreachable()
    }

    /// The delay after an attempt that did not reach a daemon.
    pub(crate) fn unreachable(&mut self) -> Duration {
        let delay = self.next;
        self.next = (delay * 2).min(LONGEST);
        jittered(delay)
    }

    /// The delay after a refusal.
    pub(crate) fn refused(&self) -> Duration {
        jittered(REFUSED)
    }
}

fn jittered(delay: Duration) -> Duration {
    delay.mul_f64(rand::rng().random_range(0.5..=1.0))
}
