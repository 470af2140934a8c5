//! The thread that makes checksums of what was sealed, and looks in turn at all pages that have one.

use std::collections::VecDeque;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Store;
use super::scrub::Scrub;
use crate::checksum::checksum_seed;
use crate::error::{Error, ErrorKind, Result};
use crate::index::BlockKey;
use crate::pool::Slot;
use crate::sync::{Arc, Condvar, Mutex, Ordering, Weak};

/// What the thread is asked to do.
#[derive(Debug, Default)]
struct Wanted {
    /// Sealed pages that have no checksum yet; the first stays until it has.
    slots: VecDeque<Slot>,
    /// When the thread ends at the latest, whatever is left to do.
    end: Option<Instant>,
}

#[derive(Debug, Default)]
struct Signal {
    wanted: Mutex<Wanted>,
    changed: Condvar,
}

/// What the thread does next.
enum Work {
    Checksum(Slot),
    Scrub,
}

/// The way to the thread, which sleeps while nothing is sealed and no page is due for a look.
#[derive(Debug, Default)]
pub(super) struct Inspector {
    signal: Arc<Signal>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Inspector {
    /// Starts the thread; it ends with the store.
    pub(super) fn start(&self, store: &Arc<Store>, scrub_period: Duration) -> Result<()> {
        let (signal, store) = (Arc::clone(&self.signal), Arc::downgrade(store));
        let thread = thread::Builder::new()
            .name("inspector".into())
            .spawn(move || run(&signal, &store, scrub_period));
        *self.thread.lock() = Some(thread.map_err(|error| Error::io("start the inspector", error))?);
        Ok(())
    }

    /// These pages are sealed and have no checksum yet.
    pub(super) fn add(&self, slots: &[Slot]) {
        let mut wanted = self.signal.wanted.lock();
        let was_empty = wanted.slots.is_empty();
        wanted.slots.extend(slots);
        drop(wanted);
        if was_empty {
            self.signal.changed.notify_one();
        }
    }

    /// Pages without a checksum.
    pub(super) fn pending(&self) -> u64 {
        self.signal.wanted.lock().slots.len() as u64
    }

    /// Asks the thread to end once no page lacks a checksum, or at `end`.
    pub(super) fn stop(&self, end: Instant) {
        self.signal.wanted.lock().end = Some(end);
        self.signal.changed.notify_one();
    }

    /// Waits until the thread has ended.
    pub(super) fn join(&self) -> Result<()> {
        match self.thread.lock().take().map(JoinHandle::join) {
            Some(Err(_)) => Err(Error::new(ErrorKind::Io, "the inspector ended in a panic")),
            _ => Ok(()),
        }
    }
}

fn run(signal: &Signal, store: &Weak<Store>, scrub_period: Duration) {
    let mut scrub = Scrub::new(scrub_period, Instant::now());
    loop {
        let due = store.upgrade().and_then(|store| scrub.due(&store));
        let Some(work) = wait(signal, due) else { return };
        let Some(store) = store.upgrade() else { return };
        match work {
            Work::Checksum(slot) => {
                store.make_checksum(slot);
                signal.wanted.lock().slots.pop_front();
            }
            Work::Scrub => scrub.look(&store, Instant::now()),
        }
    }
}

/// What is to be done next; None when the store closes.
fn wait(signal: &Signal, due: Option<Instant>) -> Option<Work> {
    let mut wanted = signal.wanted.lock();
    loop {
        let now = Instant::now();
        if wanted.end.is_some_and(|end| end <= now) {
            return None;
        }
        if let Some(slot) = wanted.slots.front() {
            return Some(Work::Checksum(*slot));
        }
        if wanted.end.is_some() {
            return None;
        }
        match due {
            Some(due) if due <= now => return Some(Work::Scrub),
            Some(due) => {
                signal.changed.wait_until(&mut wanted, due);
            }
            None => signal.changed.wait(&mut wanted),
        }
    }
}

impl Store {
    /// Gives a sealed page its checksum; nothing to do for one that was evicted meanwhile.
    pub(super) fn make_checksum(&self, slot: Slot) {
        let made = self.inspect(slot, |space, block, record, page| {
            let is_missing = record.checksum.is_none();
            if is_missing {
                let checksum = page.checksum(checksum_seed(&space.key, record.shard, &record.hash));
                self.pool.slots.set_checksum(slot, checksum);
                let key = BlockKey {
                    hash: record.hash,
                    space: space.id.number,
                };
                self.offer_sealed(space, block, key);
            }
            is_missing
        });
        let made = u64::from(made == Some(true));
        self.counts.checksums_made.fetch_add(made, Ordering::Relaxed);
    }
}
