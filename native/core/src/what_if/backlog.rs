//! Sampled blocks that are still to be counted, so that nobody who asks for or saves them waits for it.

use std::mem;

use crate::eviction::Tick;
use crate::sync::{Condvar, Mutex};

/// So many are worth waking the thread.
const WORTH_A_TURN: usize = 1 << 10;
/// With so many waiting, what comes is left out.
pub(super) const MOST: usize = 32 << 10;

#[derive(Debug, Default)]
pub(super) struct Backlog {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    events: Events,
    is_closing: bool,
}

/// What happened, in its order.
#[derive(Debug, Default)]
pub(super) struct Events {
    fingerprints: Vec<u32>,
    each: Vec<(Event, usize)>,
}

/// What happened to the sampled blocks of a prompt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) kind: EventKind,
    /// Bytes of each block.
    pub(super) block_bytes: u64,
    pub(super) time: Tick,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    Asked,
    /// One block, behind another if that is known.
    Saved {
        after: Option<u32>,
    },
}

impl Backlog {
    /// Takes what happened to some blocks; false when it is left out.
    pub(super) fn push(&self, sampled: impl Iterator<Item = u32>, event: Event) -> bool {
        let mut waiting = self.waiting.lock();
        let Events { fingerprints, each } = &mut waiting.events;
        let before = fingerprints.len();
        if before >= MOST {
            return false;
        }
        fingerprints.extend(sampled);
        let after = fingerprints.len();
        each.push((event, after - before));
        drop(waiting);
        if before < WORTH_A_TURN && after >= WORTH_A_TURN {
            self.changed.notify_one();
        }
        true
    }

    /// What waits.
    pub(super) fn take(&self) -> Events {
        mem::take(&mut self.waiting.lock().events)
    }

    /// Returns when there is enough for a turn; false at the end.
    pub(super) fn wait(&self) -> bool {
        let mut waiting = self.waiting.lock();
        while !waiting.is_closing && waiting.events.fingerprints.len() < WORTH_A_TURN {
            self.changed.wait(&mut waiting);
        }
        !waiting.is_closing
    }

    /// Ends the wait.
    pub(super) fn close(&self) {
        self.waiting.lock().is_closing = true;
        self.changed.notify_one();
    }
}

impl Events {
    /// Each with its blocks.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Event, &[u32])> {
        let mut rest = self.fingerprints.as_slice();
        self.each.iter().map(move |(event, sampled)| {
            let (sampled, others) = rest.split_at_checked(*sampled).unwrap_or((rest, &[]));
            rest = others;
            (*event, sampled)
        })
    }
}
