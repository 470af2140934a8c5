//! The share of a processor that a thread may use for what can be left out.

#[cfg(test)]
mod tests;

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Processor time of the calling thread that may still be used.
#[derive(Debug)]
pub struct Budget {
    share: f64,
    burst: Duration,
    credit_s: f64,
    wall: Duration,
    used: Duration,
}

impl Budget {
    /// Of each second of wall time the thread may use this share, and `burst` at once after it was idle.
    pub fn new(share: f64, burst: Duration) -> Self {
        Self {
            share,
            burst,
            credit_s: burst.as_secs_f64(),
            wall: now(ClockId::Monotonic),
            used: now(ClockId::ThreadCPUTime),
        }
    }

    /// Whether the thread has used more.
    pub fn is_spent(&mut self) -> bool {
        self.advance(now(ClockId::Monotonic), now(ClockId::ThreadCPUTime));
        self.credit_s < 0.0
    }

    fn advance(&mut self, wall: Duration, used: Duration) {
        let earned = self.share * wall.saturating_sub(self.wall).as_secs_f64();
        let spent = used.saturating_sub(self.used).as_secs_f64();
        self.credit_s = (self.credit_s + earned).min(self.burst.as_secs_f64()) - spent;
        self.wall = wall;
        self.used = used;
    }
}

fn now(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
