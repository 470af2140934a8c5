//! Blocks that wait for a path to write them: whichever is free first takes the next.

use std::collections::{HashSet, VecDeque};
use std::time::Instant;

use super::block::{BlockWrite, Refused, SsdSpaceId};
use super::index::SpaceInfo;
use crate::error::{Error, Result};
use crate::sync::{Arc, Condvar, Mutex};

/// Bytes that wait or are under way at most, all paths together, unless it is one block.
const MOST_BYTES: u64 = 128 << 20;

/// A block on its way.
#[derive(Debug)]
pub(super) struct Queued {
    pub(super) write: BlockWrite,
    pub(super) space: Arc<SpaceInfo>,
    /// Its hash, zeros behind.
    pub(super) hash: [u8; 32],
}

impl State {
    fn has_room(&self, bytes: u64) -> bool {
        self.bytes == 0 || self.bytes + bytes <= MOST_BYTES
    }
}

/// What was accepted.
#[derive(Debug, Default)]
pub(super) struct WriteQueue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Queued>,
    /// Blocks that wait or are under way.
    keys: HashSet<(SsdSpaceId, [u8; 32])>,
    bytes: u64,
    accepted: u64,
    taken: u64,
    is_closed: bool,
}

impl WriteQueue {
    /// Accepts a block, or says why not.
    pub(super) fn push(&self, queued: Queued) -> std::result::Result<(), Refused> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(Refused::Offline);
        }
        if !state.has_room(queued.space.padded_bytes) {
            return Err(Refused::Busy);
        }
        if !state.keys.insert((queued.space.id, queued.hash)) {
            return Err(Refused::Present);
        }
        state.bytes += queued.space.padded_bytes;
        state.accepted += 1;
        state.waiting.push_back(queued);
        Ok(())
    }

    /// Whether a block of so many bytes would be accepted.
    pub(super) fn has_room(&self, bytes: u64) -> bool {
        self.state.lock().has_room(bytes)
    }

    /// Whether a block of this key waits or is under way.
    pub(super) fn has(&self, space: SsdSpaceId, hash: &[u8; 32]) -> bool {
        self.state.lock().keys.contains(&(space, *hash))
    }

    /// The next block of a size that is meant; its end has to be told.
    pub(super) fn take(&self, is_meant: impl Fn(u64) -> bool) -> Option<Queued> {
        let mut state = self.state.lock();
        let mut waiting = state.waiting.iter();
        let at = waiting.position(|queued| is_meant(queued.space.padded_bytes))?;
        let queued = state.waiting.remove(at)?;
        state.taken += 1;
        self.changed.notify_all();
        Some(queued)
    }

    /// A block that was taken can be found now, or will not be.
    pub(super) fn end(&self, queued: Queued, result: Result<()>) {
        let mut state = self.state.lock();
        state.keys.remove(&(queued.space.id, queued.hash));
        state.bytes -= queued.space.padded_bytes;
        drop(state);
        self.changed.notify_all();
        drop(queued.write.keep);
        (queued.write.done)(result);
    }

    /// Bytes accepted and not written.
    pub(super) fn bytes(&self) -> u64 {
        self.state.lock().bytes
    }

    /// Waits until there is room for more.
    pub(super) fn wait_for_room(&self, deadline: Instant) -> bool {
        self.wait(deadline, |state| state.is_closed || state.bytes < MOST_BYTES / 2)
    }

    /// Waits until paths have taken all that was accepted so far.
    pub(super) fn wait_until_taken(&self, deadline: Instant) -> bool {
        let accepted = self.state.lock().accepted;
        self.wait(deadline, |state| state.taken >= accepted)
    }

    fn wait(&self, deadline: Instant, is_met: impl Fn(&State) -> bool) -> bool {
        let mut state = self.state.lock();
        while !is_met(&state) {
            if self.changed.wait_until(&mut state, deadline).timed_out() {
                return is_met(&state);
            }
        }
        true
    }

    /// Fails what no path has taken, of more than so many bytes.
    pub(super) fn fail_waiting(&self, more_than: u64, error: &Error) {
        while let Some(queued) = self.take(|bytes| bytes > more_than) {
            self.end(queued, Err(Error::new(error.kind(), error.message())));
        }
    }

    /// Accepts nothing more.
    pub(super) fn close(&self) {
        self.state.lock().is_closed = true;
        self.changed.notify_all();
    }
}
