//! What all paths of a tier share.

use super::SsdConfig;
use super::block::SsdSpaceId;
use super::budget::Budget;
use super::check::Checkers;
use super::counts::Counter;
use super::extent::Extent;
use super::inbox::{Event, Removal};
use super::index::{Handle, Index};
use super::io::Engines;
use super::path::{Path, SegmentPin};
use super::queue::WriteQueue;
use crate::error::{Error, Result};
use crate::space::MAX_HASH_BYTES;
use crate::sync::{Arc, Mutex, RwLock};

/// Index, queue and budget of a tier, and its paths.
#[derive(Debug)]
pub(super) struct Tier {
    pub(super) index: Mutex<Index>,
    pub(super) queue: WriteQueue,
    pub(super) budget: Budget,
    pub(super) checkers: Checkers,
    pub(super) refused: [Counter; 5],
    pub(super) paths: RwLock<Vec<Arc<Path>>>,
    pub(super) engines: Engines,
}

impl Tier {
    pub(super) fn new(config: &SsdConfig, engines: Engines) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            index: Mutex::default(),
            queue: WriteQueue::default(),
            budget: Budget::new(config.write_budget),
            checkers: Checkers::start_checking()?,
            refused: Default::default(),
            paths: RwLock::default(),
            engines,
        }))
    }

    /// Where a block is, if it can be read.
    pub(super) fn find(&self, space: SsdSpaceId, hash: &[u8; 32]) -> Option<Extent> {
        let index = self.index.lock();
        let found = index.find(space, hash)?;
        found.segment.path.is_usable().then(|| Extent {
            // Under the lock of the index: a segment that has left it gets no more pins.
            pin: SegmentPin::new(&found.segment),
            handle: found.handle,
            entry: found.entry,
            space: found.space,
        })
    }

    /// Where the block of this handle is, if it is there and can be read.
    pub(super) fn find_handle(&self, handle: Handle) -> Option<Extent> {
        let (space, hash) = {
            let index = self.index.lock();
            let (space, hash) = index.segments.key(handle)?;
            (space, *hash)
        };
        self.find(space, &hash).filter(|extent| extent.handle == handle)
    }

    /// Takes a block out unless it has moved or gone meanwhile; whether it was there.
    pub(super) fn remove(&self, handle: Handle) -> bool {
        let removed = self.index.lock().remove(handle);
        match removed {
            Some((segment, place)) => {
                segment.path.inbox.tell(Event::Removed(Removal::Block(place)));
                true
            }
            None => false,
        }
    }

    /// Fails what waits and no path has room for any more.
    pub(super) fn fail_unfit(&self, error: &Error) {
        let paths = self.paths.read().clone();
        let usable = paths.iter().filter(|path| path.is_usable());
        let largest = usable.map(|path| path.largest_block()).max();
        self.queue.fail_waiting(largest.unwrap_or(0), error);
    }

    /// Has every path look whether it can write what waits; false when none can write anything.
    pub(super) fn wake_paths(&self) -> bool {
        let paths = self.paths.read();
        paths.iter().for_each(|path| path.inbox.wake());
        paths.iter().any(|path| path.is_usable())
    }
}

/// A hash with zeros behind; None for one that is too long.
pub(super) fn padded_hash(hash: &[u8]) -> Option<[u8; 32]> {
    let mut padded = [0; MAX_HASH_BYTES as usize];
    padded.get_mut(..hash.len())?.copy_from_slice(hash);
    Some(padded)
}
