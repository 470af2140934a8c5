//! The connections of one server: as many as its share of the descriptors allows. The oldest that is not in use makes room for
//! a new one, so that nobody keeps others out by holding connections.

mod acceptor;
mod stream;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::oneshot;

pub(crate) use acceptor::Acceptor;
pub(crate) use stream::{CallerInfo, Connection};

/// The connections of one server.
#[derive(Debug)]
struct Connections {
    /// How many there are at once.
    most: usize,
    open: Mutex<Open>,
}

/// Those that are open, the oldest first.
#[derive(Debug, Default)]
struct Open {
    accepted: u64,
    by_age: BTreeMap<u64, Held>,
}

/// What is known of one; it ends when this is dropped.
#[derive(Debug)]
struct Held {
    usage: Usage,
    _end: oneshot::Sender<()>,
}

impl Connections {
    fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            open: Mutex::default(),
        })
    }

    /// Takes one more, for which the oldest that is not in use may have to go; None while all are in use.
    fn admit<S>(self: &Arc<Self>, stream: S) -> Option<Connection<S>> {
        let mut open = self.open.lock();
        if open.by_age.len() >= self.most {
            let mut unused = open.by_age.iter().filter(|(_, held)| !held.usage.is_in_use());
            let oldest = *unused.next()?.0;
            open.by_age.remove(&oldest);
        }
        let number = open.accepted;
        open.accepted += 1;
        let (end, ended) = oneshot::channel();
        let usage = Usage::default();
        let held = Held {
            usage: usage.clone(),
            _end: end,
        };
        open.by_age.insert(number, held);
        Some(Connection::new(stream, ended, Arc::clone(self), number, usage))
    }

    fn forget(&self, number: u64) {
        self.open.lock().by_age.remove(&number);
    }
}

/// How many calls a connection is in use by.
#[derive(Debug, Clone, Default)]
pub(crate) struct Usage(Arc<AtomicUsize>);

/// One use of a connection, until this is dropped.
#[derive(Debug)]
pub(crate) struct InUse(Usage);

impl Usage {
    /// From here on the connection is in use.
    pub(crate) fn begin(&self) -> InUse {
        self.0.fetch_add(1, Ordering::Relaxed);
        InUse(self.clone())
    }

    fn is_in_use(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
