//! What callers and the background thread share.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::Notify;

use super::breaker::Breaker;
use super::config::SchedulerConfig;
use super::lookup::{LeaseRef, Lookup};
use super::table::{Table, Token};
use crate::session::Session;

/// A client's shared half.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: SchedulerConfig,
    /// After this a lookup is late.
    pub(super) deadline: Duration,
    state: Mutex<State>,
    /// A lookup was answered, or given up.
    pub(super) answered: Condvar,
    /// There are leases or lookups to release.
    pub(super) releases: Notify,
    /// The breaker has opened.
    pub(super) breaker_opened: Notify,
}

/// Everything that changes, under one lock.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) session: Option<Arc<Session>>,
    pub(super) table: Table,
    pub(super) breaker: Breaker,
    /// How often the breaker opened that no daemon has heard of.
    pub(super) untold_openings: u32,
    pub(super) counters: Counters,
    /// How long the engine takes to compute one block, as far as that is known.
    pub(super) block_compute: Option<Duration>,
    unreleased: Unreleased,
}

/// What the daemon still keeps and nobody wants any more.
#[derive(Debug, Default)]
pub(super) struct Unreleased {
    pub(super) lease_ids: Vec<u64>,
    pub(super) lookup_ids: Vec<u64>,
}

impl Unreleased {
    pub(super) fn is_empty(&self) -> bool {
        self.lease_ids.is_empty() && self.lookup_ids.is_empty()
    }
}

/// Monotonic counts.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Lookups that were sent to the daemon.
    pub(super) lookups: u64,
    /// Lookups that the daemon answered, also late.
    pub(super) answers: u64,
    /// Lookups that were not answered within the deadline.
    pub(super) timeouts: u64,
    /// Lookups that were not answered long after it either.
    pub(super) given_up: u64,
    /// Lookups that were answered "off" without a call.
    pub(super) short_circuits: u64,
    /// How often the breaker opened.
    pub(super) breaker_opened: u64,
    /// Sessions opened.
    pub(super) attaches: u64,
}

impl Shared {
    pub(super) fn new(config: SchedulerConfig, deadline: Duration) -> Self {
        Self {
            config,
            deadline,
            state: Mutex::default(),
            answered: Condvar::new(),
            releases: Notify::new(),
            breaker_opened: Notify::new(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Gives a lease of the open session back; one of an earlier session has ended with it.
    pub(super) fn release(&self, state: &mut State, lease: LeaseRef) {
        let is_current = state
            .session
            .as_ref()
            .is_some_and(|session| session.boot_id() == lease.boot_id);
        if is_current {
            state.unreleased.lease_ids.push(lease.lease_id);
            self.releases.notify_one();
        }
    }

    /// Tells the daemon that nobody asks for a lookup again.
    pub(super) fn give_back_lookup(&self, state: &mut State, token: Token) {
        state.unreleased.lookup_ids.push(token);
        self.releases.notify_one();
    }

    /// Gives the lease of an answer back, if it has one.
    pub(super) fn discard(&self, state: &mut State, lookup: &Lookup) {
        if let Some(lease) = lookup.lease() {
            self.release(state, lease);
        }
    }
}

impl State {
    /// The session that lookups go to now; none while the breaker is open or the daemon is stopping.
    pub(super) fn usable_session(&self) -> Option<Arc<Session>> {
        let session = self.session.as_ref()?;
        (!self.breaker.is_open() && !session.is_draining()).then(|| Arc::clone(session))
    }

    /// Whether `session` is the open one.
    pub(super) fn is_current(&self, session: &Arc<Session>) -> bool {
        self.session
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, session))
    }

    /// What is to be released.
    pub(super) fn take_unreleased(&mut self) -> Unreleased {
        mem::take(&mut self.unreleased)
    }

    /// Begins a session.
    pub(super) fn open(&mut self, session: &Arc<Session>) {
        self.close();
        self.session = Some(Arc::clone(session));
        self.counters.attaches += 1;
    }

    /// Ends the session, and with it every lookup and lease.
    pub(super) fn close(&mut self) {
        self.session = None;
        self.table.clear();
        self.breaker.close();
        self.unreleased = Unreleased::default();
    }
}
