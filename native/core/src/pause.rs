//! Short pauses of threads that ask again and again.

use std::num::NonZeroU64;

/// Has the kernel wake this thread from a pause when it is over, not up to 50 us later.
pub fn be_exact() {
    // A kernel that refuses lets pauses be as long as they were.
    rustix::thread::set_current_timer_slack(NonZeroU64::new(1)).ok();
}
