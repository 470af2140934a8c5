//! The circuit breaker: a daemon that does not answer is not asked, until a probe finds it answering.

use std::time::Instant;

/// Closed at first, and again with each session.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    last_answer: Option<Instant>,
    is_open: bool,
}

impl Breaker {
    /// Whether lookups are answered without a call.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// A lookup was answered, be it late or with an error.
    pub(super) fn answered(&mut self) {
        self.last_answer = Some(Instant::now());
    }

    /// A lookup that was asked at this time is given up; true when that opens the breaker: nothing was answered since.
    pub(super) fn given_up(&mut self, asked: Instant) -> bool {
        let is_silent = self.last_answer.is_none_or(|answer| answer < asked);
        let opens = is_silent && !self.is_open;
        self.is_open |= opens;
        opens
    }

    /// A probe was answered in time, or the session is a new one.
    pub(super) fn close(&mut self) {
        self.is_open = false;
        self.answered();
    }
}
