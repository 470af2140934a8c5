//! How long somebody waits for disks.

use std::time::{Duration, Instant};

/// How often somebody who waits looks whether the disk answers, and whether to wait on.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(100);

/// How long somebody waits for disks: until a time, and as long as nothing says that it is enough.
///
/// A wait that is cut short by the latter returns as if all was done: whoever says so knows.
pub struct Patience<'a> {
    deadline: Instant,
    is_over: Option<&'a mut dyn FnMut() -> bool>,
}

impl<'a> Patience<'a> {
    /// Until `deadline`, and until `is_over` says so, which is asked some times a second.
    pub fn new(deadline: Instant, is_over: &'a mut dyn FnMut() -> bool) -> Self {
        Self {
            deadline,
            is_over: Some(is_over),
        }
    }

    /// Until when to wait before the next look.
    pub(super) fn next_look(&self) -> Instant {
        self.deadline.min(Instant::now() + LOOK_INTERVAL)
    }

    pub(super) fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// Whether it is enough.
    pub(super) fn is_over(&mut self) -> bool {
        self.is_over.as_mut().is_some_and(|is_over| is_over())
    }
}

impl From<Instant> for Patience<'_> {
    fn from(deadline: Instant) -> Self {
        let is_over = None;
        Self { deadline, is_over }
    }
}

impl std::fmt::Debug for Patience<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Patience")
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}
