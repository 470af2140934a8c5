//! The locks and atomics of this crate, so that a model checker, or locks that wait, can stand in for them.

#[cfg(delays)]
mod delays;

#[cfg(delays)]
pub(crate) use delays::Mutex;
#[cfg(not(delays))]
pub(crate) use parking_lot::Mutex;
pub(crate) use parking_lot::{Condvar, MutexGuard, RwLock};
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub(crate) use std::sync::{Arc, OnceLock, Weak};

/// Before each store to the words that outlive this process: where the tests let it end.
#[inline]
pub(crate) fn crash_point() {
    #[cfg(test)]
    crate::store::tests::crash_points::reached();
}
