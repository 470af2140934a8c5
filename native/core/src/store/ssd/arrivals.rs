//! What became of fetched blocks, for whoever waits for them.

use std::mem;
use std::task::Waker;
use std::time::Instant;

use crate::store::Hits;
use crate::sync::{Condvar, Mutex};

/// Why a block was not fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Failure {
    /// The pool has no room for it.
    NoRoom,
    /// An engine is saving it just now.
    Busy,
    /// The disk failed, or has it no more.
    Failed,
    /// It was not what was saved.
    Corrupt,
    /// Nobody waited for it any more.
    Cancelled,
}

/// A block that was waited for, by the number that its waiter gave it.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) number: usize,
    pub(super) outcome: Result<Hits, Failure>,
}

/// Where a waiter finds them.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    arrived: Vec<Arrival>,
    waker: Option<Waker>,
}

impl Arrivals {
    /// Tells the waiter.
    pub(super) fn push(&self, arrival: Arrival) {
        let waker = {
            let mut state = self.state.lock();
            state.arrived.push(arrival);
            state.waker.take()
        };
        self.changed.notify_one();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// What came since the last call; `waker` is woken when there is more.
    pub(super) fn take(&self, waker: Option<&Waker>) -> Vec<Arrival> {
        let mut state = self.state.lock();
        state.waker = waker.cloned();
        mem::take(&mut state.arrived)
    }

    /// The same, once there is something, or at `deadline`.
    pub(super) fn wait(&self, deadline: Instant) -> Vec<Arrival> {
        let mut state = self.state.lock();
        while state.arrived.is_empty() {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                break;
            }
        }
        mem::take(&mut state.arrived)
    }
}
