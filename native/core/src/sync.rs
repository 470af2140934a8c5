//! The locks and atomics of the index, store and lease code, so that a model checker can stand in for them.

pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
pub(crate) use std::sync::{Arc, OnceLock, Weak};

/// Before each store to the words that outlive this process: where the tests let it end.
#[inline]
pub(crate) fn crash_point() {
    #[cfg(test)]
    crate::store::tests::crash_points::reached();
}
