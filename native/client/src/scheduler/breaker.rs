//! The circuit breaker: a daemon that does not answer is not asked, until a probe finds it answering.

/// Overdue lookups in a row that open the breaker.
const LIMIT: u32 = 3;

/// Closed at first, and again with each session.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    overdue: u32,
    is_open: bool,
}

impl Breaker {
    /// Whether lookups are answered without a call.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// A lookup is overdue; true when that opened the breaker.
    pub(super) fn overdue(&mut self) -> bool {
        self.overdue += 1;
        let opens = !self.is_open && self.overdue >= LIMIT;
        self.is_open |= opens;
        opens
    }

    /// A lookup was answered in time.
    pub(super) fn answered(&mut self) {
        self.overdue = 0;
    }

    /// A probe was answered in time, or the session is a new one.
    pub(super) fn close(&mut self) {
        *self = Self::default();
    }
}
