//! The thread that makes room ahead of need, and drops what stays partial for too long.

use std::collections::BTreeSet;
use std::mem;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Store;
use super::reclaim::Reclaimed;
use crate::error::{Error, ErrorKind, Result};
use crate::pool::{ClassId, Room};
use crate::sync::{Arc, Condvar, Mutex, Weak};

/// Eviction begins when less than this share of the pages that a class could have is free,
const LOW_PERCENT: u64 = 5;
/// and goes on until this share is. Both round down: what has few pages is evicted on demand only.
const HIGH_PERCENT: u64 = 8;
/// Victims in one turn: saves that need room at once come in between.
const VICTIMS_PER_TURN: usize = 256;
/// How often partial blocks are looked at, while there are any.
const SWEEP_INTERVAL: Duration = Duration::from_secs(30);

/// Whether eviction should begin. Pages that are still to come count as free.
pub(super) fn is_low(room: Room) -> bool {
    is_below(room, LOW_PERCENT)
}

fn is_below(room: Room, percent: u64) -> bool {
    room.free_pages + room.pages_to_come < room.total_pages * percent / 100
}

/// What the thread is asked to do.
#[derive(Debug, Default)]
struct Wanted {
    classes: BTreeSet<ClassId>,
    watches_partial_blocks: bool,
    is_closing: bool,
}

#[derive(Debug, Default)]
struct Signal {
    wanted: Mutex<Wanted>,
    changed: Condvar,
}

/// The way to wake the thread, which sleeps without a timeout while nothing is wanted.
#[derive(Debug, Default)]
pub(super) struct Evictor {
    signal: Arc<Signal>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Evictor {
    /// Starts the thread; it ends with the store.
    pub(super) fn start(&self, store: &Arc<Store>) -> Result<()> {
        let (signal, store) = (Arc::clone(&self.signal), Arc::downgrade(store));
        let thread = thread::Builder::new()
            .name("evictor".into())
            .spawn(move || run(&signal, &store));
        *self.thread.lock() = Some(thread.map_err(|error| Error::io("start the evictor", error))?);
        Ok(())
    }

    /// Room is low in this class.
    pub(super) fn wake(&self, class: ClassId) {
        if self.signal.wanted.lock().classes.insert(class) {
            self.signal.changed.notify_one();
        }
    }

    /// There are partial blocks.
    pub(super) fn watch_partial_blocks(&self) {
        if !mem::replace(&mut self.signal.wanted.lock().watches_partial_blocks, true) {
            self.signal.changed.notify_one();
        }
    }

    /// Asks the thread to end.
    pub(super) fn stop(&self) {
        self.signal.wanted.lock().is_closing = true;
        self.signal.changed.notify_one();
    }

    /// Waits until the thread has ended.
    pub(super) fn join(&self) -> Result<()> {
        match self.thread.lock().take().map(JoinHandle::join) {
            Some(Err(_)) => Err(Error::new(ErrorKind::Io, "the evictor ended in a panic")),
            _ => Ok(()),
        }
    }
}

fn run(signal: &Signal, store: &Weak<Store>) {
    let mut next_sweep = Instant::now() + SWEEP_INTERVAL;
    while let Some(classes) = wait(signal, next_sweep) {
        let Some(store) = store.upgrade() else { return };
        for class in classes {
            make_room_ahead(&store, class);
        }
        let now = Instant::now();
        if now >= next_sweep {
            next_sweep = now + SWEEP_INTERVAL;
            // Before the look at the index: what becomes partial meanwhile sets it again.
            signal.wanted.lock().watches_partial_blocks = false;
            store.drop_stale_partial_blocks(now);
            if store.index.partial_blocks() > 0 {
                signal.wanted.lock().watches_partial_blocks = true;
            }
        }
    }
}

/// The classes to make room in; empty when a sweep is due, None when the store closes.
fn wait(signal: &Signal, next_sweep: Instant) -> Option<BTreeSet<ClassId>> {
    let mut wanted = signal.wanted.lock();
    loop {
        if wanted.is_closing {
            return None;
        }
        if !wanted.classes.is_empty() {
            return Some(mem::take(&mut wanted.classes));
        }
        if !wanted.watches_partial_blocks {
            signal.changed.wait(&mut wanted);
        } else if signal.changed.wait_until(&mut wanted, next_sweep).timed_out() {
            return Some(BTreeSet::new());
        }
    }
}

/// Evicts until the high mark, or until nothing more can go.
pub(super) fn make_room_ahead(store: &Store, class: ClassId) {
    let is_enough = || {
        let room = store.pool.room(class);
        room.free_pages + room.pages_to_come > 0 && !is_below(room, HIGH_PERCENT)
    };
    while store.make_room(class, VICTIMS_PER_TURN, is_enough) == Reclaimed::Some {}
}
