//! What callers and the background thread share.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex, MutexGuard};
use tokio::sync::Notify;

use super::breaker::Breaker;
use super::config::SchedulerConfig;
use super::lookup::{LeaseRef, Lookup};
use super::table::Table;
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
    /// There are leases to release.
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
    pub(super) counters: Counters,
    unreleased: Vec<u64>,
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
            state.unreleased.push(lease.lease_id);
            self.releases.notify_one();
        }
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

    /// The leases to release.
    pub(super) fn take_unreleased(&mut self) -> Vec<u64> {
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
        self.unreleased.clear();
    }
}
