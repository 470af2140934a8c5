//! What a path's writer is told.

use std::io;
use std::sync::mpsc::Sender;
use std::time::Instant;

use super::block::{Evicted, PathFiles};
use super::index::{Entry, Place};
use super::path::Kept;
use crate::error::Result;
use crate::sync::{Condvar, Mutex};

/// Where the answer to a command goes.
pub(super) type Reply = Sender<Result<Evicted>>;

/// One thing that happened, or is asked for.
#[derive(Debug)]
pub(super) enum Event {
    /// The data of a batch is on the disk, or is not.
    DataWritten(u64, io::Result<()>),
    /// The records under way are on the disk, or are not.
    JournalWritten(io::Result<()>),
    /// One of the files that were asked for is safe, or is not.
    Synced(io::Result<()>),
    /// A block that is to be kept was read.
    KeptRead(Entry, Kept, io::Result<()>),
    /// Reads fail: the path is not to be used until it was looked at anew.
    Failed(String),
    /// Blocks were taken out of the index.
    Removed(Removal),
    /// Answer when all accepted so far is safe.
    Flush(Reply),
    /// The capacity has changed: answer when the files are within it.
    Resize(Reply),
    /// Evict so many bytes.
    Evict(u64, Reply),
    /// Finish what was accepted, and end.
    End(PathFiles, Reply),
}

/// What a journal is to say about blocks that were taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Removal {
    /// One block.
    Block(Place),
    /// The blocks of the space with this number up to a place.
    Space(u16, Place),
}

/// Events in their order.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    events: Vec<Event>,
    /// There may be something to do without an event.
    is_woken: bool,
    is_asleep: bool,
    is_closed: bool,
}

impl Inbox {
    /// Drops what is told to a writer that has ended: whoever waits for an answer hears that there will be none.
    pub(super) fn tell(&self, event: Event) {
        let mut waiting = self.waiting.lock();
        if waiting.is_closed {
            return;
        }
        waiting.events.push(event);
        if waiting.is_asleep {
            self.changed.notify_one();
        }
    }

    /// The writer has ended.
    pub(super) fn close(&self) {
        let mut waiting = self.waiting.lock();
        waiting.is_closed = true;
        let untaken = std::mem::take(&mut waiting.events);
        drop(waiting);
        // What they hold, as pins of segments, may tell this inbox when it goes.
        drop(untaken);
    }

    /// Has the writer look at what it does next.
    pub(super) fn wake(&self) {
        let mut waiting = self.waiting.lock();
        waiting.is_woken = true;
        if waiting.is_asleep {
            self.changed.notify_one();
        }
    }

    /// What was told since the last call; waits until there is something, the writer is woken, or `deadline` passes.
    pub(super) fn take(&self, deadline: Option<Instant>) -> Vec<Event> {
        let mut waiting = self.waiting.lock();
        while waiting.events.is_empty() && !waiting.is_woken {
            waiting.is_asleep = true;
            let is_late = match deadline {
                Some(deadline) => self.changed.wait_until(&mut waiting, deadline).timed_out(),
                None => {
                    self.changed.wait(&mut waiting);
                    false
                }
            };
            waiting.is_asleep = false;
            if is_late {
                break;
            }
        }
        waiting.is_woken = false;
        std::mem::take(&mut waiting.events)
    }
}
