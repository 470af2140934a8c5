//! A lock that now and then waits before it is taken: what relies on another thread being fast fails with it (`make test-delays`).

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::thread;
use std::time::Duration;

use super::MutexGuard;

/// Every so many times a thread that the code starts waits,
const OFTEN: u64 = 8;
/// and a test's own one, which takes more locks than all others.
const RARELY: u64 = 400;
/// The longest wait.
const LONGEST_US: u64 = 3000;

/// [`parking_lot::Mutex`], as far as it is used here.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T: ?Sized>(parking_lot::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(parking_lot::Mutex::new(value))
    }
}

impl<T: ?Sized> Mutex<T> {
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        delay();
        self.0.lock()
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        delay();
        self.0.try_lock()
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

thread_local! {
    /// How often this thread waits, and the count that its waits are drawn by.
    static TURN: Cell<(u64, u64)> = Cell::new((rarity(), 0));
}

/// Tests are named by their paths.
fn rarity() -> u64 {
    let current = thread::current();
    let is_of_test = current
        .name()
        .is_some_and(|name| name == "main" || name.contains("::"));
    if is_of_test { RARELY } else { OFTEN }
}

fn delay() {
    // A thread that ends takes locks when its own values are gone already.
    let drawn = TURN.try_with(|turn| {
        let (rarity, count) = turn.get();
        turn.set((rarity, count + 1));
        let random = RandomState::new().hash_one(count);
        random.is_multiple_of(rarity).then_some(random >> 32)
    });
    if let Ok(Some(random)) = drawn {
        thread::sleep(Duration::from_micros(random % LONGEST_US));
    }
}
