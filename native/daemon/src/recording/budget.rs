//! The share of a processor that a recording may use.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Of each second of wall time, the recording's thread may use this part,
const SHARE: f64 = 0.01;
/// and this much at once after it was idle.
const BURST: Duration = Duration::from_millis(100);

/// Processor time of the calling thread that may still be used.
#[derive(Debug)]
pub(super) struct Budget {
    credit_s: f64,
    wall: Duration,
    used: Duration,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self {
            credit_s: BURST.as_secs_f64(),
            wall: now(ClockId::Monotonic),
            used: now(ClockId::ThreadCPUTime),
        }
    }

    /// Whether the thread has to be idle for a while.
    pub(super) fn is_spent(&mut self) -> bool {
        self.advance(now(ClockId::Monotonic), now(ClockId::ThreadCPUTime));
        self.credit_s < 0.0
    }

    fn advance(&mut self, wall: Duration, used: Duration) {
        let earned = SHARE * wall.saturating_sub(self.wall).as_secs_f64();
        let spent = used.saturating_sub(self.used).as_secs_f64();
        self.credit_s = (self.credit_s + earned).min(BURST.as_secs_f64()) - spent;
        self.wall = wall;
        self.used = used;
    }
}

fn now(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::{Budget, Duration};

    fn used_of(seconds: u64, wanted_of_a_second: Duration) -> Duration {
        let mut budget = Budget {
            credit_s: 0.1,
            wall: Duration::ZERO,
            used: Duration::ZERO,
        };
        let mut used = Duration::ZERO;
        for tick in 1..=seconds * 100 {
            budget.advance(Duration::from_millis(10 * tick), used);
            if budget.credit_s >= 0.0 {
                used += wanted_of_a_second / 100;
            }
        }
        used
    }

    #[test]
    fn no_more_than_its_share_is_used_however_much_there_is_to_do() {
        let used = used_of(100, Duration::from_millis(800));
        assert!(
            used >= Duration::from_millis(900) && used <= Duration::from_millis(1200),
            "{used:?}"
        );
    }

    #[test]
    fn what_keeps_to_the_share_is_never_held_up() {
        assert_eq!(used_of(100, Duration::from_millis(9)), Duration::from_millis(900));
    }
}
