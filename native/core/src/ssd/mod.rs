//! The SSD tier: blocks in log-structured segment files, one directory a disk, that survive the daemon.
//!
//! `native/docs/format.md` has the files byte by byte.

mod block;
mod budget;
mod check;
mod config;
mod counts;
mod extent;
mod format;
mod inbox;
mod index;
mod io;
mod path;
mod paths;
mod patience;
mod queue;
mod read;
mod snapshot;
#[cfg(test)]
mod tests;
mod tier;
mod verify;
mod workers;

pub use block::{
    BlockOrder, BlockWrite, Evicted, PathFiles, Priority, ReadDone, Refused, SsdBlock, SsdSpace, SsdSpaceId,
    VerifyProgress, WriteDone,
};
pub use config::{IoEngineKind, MIN_CAPACITY, SsdConfig, SsdPathConfig};
pub use extent::Extent;
#[cfg(test)]
pub(crate) use io::fault::{Call, Disk, Faults};
pub use paths::{check_capacity, held_bytes, remove_made};
pub use patience::Patience;
pub use read::ReadTicket;
pub use snapshot::{
    FIRST_LATENCY_BOUND_NS, LATENCY_BUCKETS, LatencyCounts, PathState, Recovery, SsdPathSnapshot, SsdRate,
    SsdSnapshot,
};

use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Instant;

use crate::error::{Error, ErrorKind, Result};
use crate::pool::PagePtr;
use crate::space::{SpaceGeometry, SpaceKey};
use budget::today;
use inbox::{Event, Removal};
use index::{Found, Place};
use io::Engines;
use queue::Queued;
use read::Read;
use tier::{Tier, padded_hash};

/// The SSD tier.
#[derive(Debug)]
pub struct Ssd {
    tier: Arc<Tier>,
    write_budget: Option<u64>,
}

impl Ssd {
    /// Opens all paths and finds the blocks that are there.
    ///
    /// A path that cannot be read or written is offline, and is tried again.
    ///
    /// # Errors
    /// `Config` for a path that no tier can have, `Conflict` for one that is another daemon's, machine's or format's,
    /// `Permission` for one that this user may not use.
    pub fn open(config: SsdConfig) -> Result<Arc<Self>> {
        let engines = Box::new(config.engine);
        Self::open_with(config, engines)
    }

    /// Opens all paths on a disk that fails when it is told to.
    #[cfg(test)]
    pub(crate) fn open_on(config: SsdConfig, disk: &Disk) -> Result<Arc<Self>> {
        Self::open_with(config, Box::new(disk.clone()))
    }

    /// Opens all paths, which engines of this source read and write.
    fn open_with(config: SsdConfig, engines: Engines) -> Result<Arc<Self>> {
        let ssd = Arc::new(Self {
            tier: Tier::new(&config, engines)?,
            write_budget: config.write_budget,
        });
        ssd.add_paths(config.paths)?;
        Ok(ssd)
    }

    /// The space of this key: made if it is new. The paths hear of it with its first block.
    ///
    /// # Errors
    /// `Conflict` for a key that has blocks of another geometry: [`Ssd::remove_space`] lets it have a new one. `Invalid` for a
    /// geometry of no block, `Limit` for too many spaces.
    pub fn space(&self, key: SpaceKey, geometry: &SpaceGeometry) -> Result<SsdSpaceId> {
        self.tier.index.lock().spaces.get_or_make(key, geometry)
    }

    /// Whether a block could be read now.
    pub fn contains(&self, space: SsdSpaceId, hash: &[u8]) -> bool {
        self.find(space, hash).is_some()
    }

    /// Where a block is. Its bytes stay there as long as the answer lives, so let it go soon; no use is counted.
    pub fn find(&self, space: SsdSpaceId, hash: &[u8]) -> Option<Extent> {
        self.tier.find(space, &padded_hash(hash)?)
    }

    /// The checksums that the pages of a block have now, which the caller keeps as they are meanwhile.
    ///
    /// # Errors
    /// `Invalid` for a space or hash that the tier does not know, or pages of another number or length.
    pub fn checksums(&self, space: SsdSpaceId, hash: &[u8], pages: &[PagePtr]) -> Result<Vec<u128>> {
        let space = self.tier.index.lock().spaces.get(space.0);
        match (space, padded_hash(hash)) {
            (Some(space), Some(hash)) if space.fits(pages) => Ok(space.checksums(&hash, pages)),
            _ => Err(Error::new(
                ErrorKind::Invalid,
                "the pages are not those of a block of this space: give one a shard, as long as its own",
            )),
        }
    }

    /// Begins to write a block, on whichever path is free first; never waits for a disk.
    ///
    /// The block can be found when `done` hears `Ok`, and outlives a loss of power once [`Ssd::flush`] has returned, or about
    /// 100 ms later.
    ///
    /// # Errors
    /// Why it is not written: the write is dropped, `done` not called.
    pub fn write(&self, write: BlockWrite) -> std::result::Result<(), Refused> {
        let accepted = self.accept(write);
        match accepted {
            Ok(()) => {
                if !self.tier.wake_paths() {
                    // The last path has gone since it was looked at.
                    self.tier.fail_unfit(&gone());
                }
            }
            Err(refused) => {
                let reasons = Refused::ALL.iter().zip(&self.tier.refused);
                reasons
                    .filter(|(reason, _)| **reason == refused)
                    .for_each(|(_, count)| count.add(1));
            }
        }
        accepted
    }

    fn accept(&self, write: BlockWrite) -> std::result::Result<(), Refused> {
        let hash = padded_hash(&write.hash).ok_or(Refused::Unfit)?;
        let found = {
            let index = self.tier.index.lock();
            let space = index.spaces.get(write.space.0).ok_or(Refused::Unfit)?;
            let found = index.find(write.space, &hash);
            (space, found.is_some_and(|found| found.segment.path.is_usable()))
        };
        let (space, is_present) = found;
        let is_fit = space.fits(&write.pages)
            && write.checksums.len() == write.pages.len()
            && write.hash.len() == space.geometry.hash_bytes as usize;
        if !is_fit {
            return Err(Refused::Unfit);
        }
        if is_present || self.tier.queue.has(write.space, &hash) {
            return Err(Refused::Present);
        }
        let paths = self.tier.paths.read();
        let usable: Vec<_> = paths.iter().filter(|path| path.is_usable()).collect();
        if usable.is_empty() {
            return Err(Refused::Offline);
        }
        if !usable
            .iter()
            .any(|path| space.padded_bytes <= path.largest_block())
        {
            usable.iter().for_each(|path| path.refuse(space.padded_bytes));
            return Err(Refused::Unfit);
        }
        drop(paths);
        if !self.tier.queue.has_room(space.padded_bytes) {
            return Err(Refused::Busy);
        }
        if !self.tier.budget.take(today(), space.padded_bytes) {
            return Err(Refused::Budget);
        }
        self.tier.queue.push(Queued { write, space, hash })
    }

    /// Whether a path that can be written to has room for more without letting blocks go.
    pub fn has_room(&self) -> bool {
        let paths = self.tier.paths.read();
        paths.iter().any(|path| path.is_usable() && path.has_room())
    }

    /// Waits until a write would not be refused as `Busy`; false when `deadline` passes before.
    pub fn wait_for_room(&self, deadline: Instant) -> bool {
        self.tier.queue.wait_for_room(deadline)
    }

    /// Begins to read a block into `pages`, one a shard, which nobody else may touch until `done` is called or dropped.
    ///
    /// Each page begins at a multiple of 4,096, and the bytes behind it up to the next such multiple are written too. `done` hears
    /// `Ok` when all pages are what their checksums say; `Corrupt` when not, and `Io` when the disk fails: the block has left the
    /// tier then. `Invalid` for pages of another number or length than the block's.
    pub fn read(
        &self,
        extent: Extent,
        pages: Vec<PagePtr>,
        priority: Priority,
        done: ReadDone,
    ) -> ReadTicket {
        if !extent.fits(&pages) {
            let message =
                "the pages to read a block into are not as many or as long as its own: give one a shard";
            done(Err(Error::new(ErrorKind::Invalid, message)));
            return ReadTicket::ended();
        }
        self.tier.index.lock().segments.mark_used(extent.handle);
        self.begin_read(extent, pages, priority, done)
    }

    fn begin_read(
        &self,
        extent: Extent,
        pages: Vec<PagePtr>,
        priority: Priority,
        done: ReadDone,
    ) -> ReadTicket {
        let path = Arc::clone(extent.pin.path());
        path.reads.add(&path, Read { extent, pages, done }, priority)
    }

    /// Waits until everything that was accepted so far is safe from a loss of power.
    ///
    /// # Errors
    /// `Io` when a path failed meanwhile, its disk answers nothing, or the deadline passes before.
    pub fn flush<'a>(&self, patience: impl Into<Patience<'a>>) -> Result<()> {
        let patience = &mut patience.into();
        if !self.wait_until_taken(patience)? {
            return Ok(());
        }
        self.check_answers()?;
        let paths = self.tier.paths.read().clone();
        let usable = paths.iter().filter(|path| path.is_usable());
        let answers: Vec<_> = usable.map(|path| path.ask(Event::Flush)).collect();
        answers
            .into_iter()
            .try_for_each(|answer| match answer.wait(patience) {
                // It has made safe what it had taken before it went.
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                answered => answered.map(drop),
            })
    }

    /// Waits until paths have taken all that was accepted; false when somebody has enough of it before.
    fn wait_until_taken(&self, patience: &mut Patience<'_>) -> Result<bool> {
        while !self.tier.queue.wait_until_taken(patience.next_look()) {
            self.check_answers()?;
            if patience.is_over() {
                return Ok(false);
            }
            if patience.is_late() {
                return Err(late("writing what was accepted"));
            }
        }
        Ok(true)
    }

    /// Looks whether the disks of all paths answer that may have taken something.
    ///
    /// # Errors
    /// `Io` for one that has answered nothing for long: what waits for it waits in vain for now.
    pub fn check_answers(&self) -> Result<()> {
        let paths = self.tier.paths.read();
        let stalled = paths.iter().find(|path| path.was_online() && path.is_stalled());
        stalled.map_or(Ok(()), |path| Err(path.offline_error()))
    }

    /// Takes a block out; whether it was there. Safe from a loss of power after the next flush.
    pub fn remove(&self, space: SsdSpaceId, hash: &[u8]) -> bool {
        let Some(hash) = padded_hash(hash) else {
            return false;
        };
        let handle = self.tier.index.lock().handle(space, &hash);
        handle.is_some_and(|handle| self.tier.remove(handle))
    }

    /// Takes all blocks of a space out. Safe from a loss of power after the next flush.
    pub fn remove_space(&self, space: SsdSpaceId) -> Evicted {
        let mut index = self.tier.index.lock();
        let ids = index.segments.ids(|_| true);
        let evicted = index.remove_where(&ids, |entry| entry.space() == space);
        let last: Vec<_> = self
            .tier
            .paths
            .read()
            .iter()
            .map(|path| (Arc::clone(path), index.last_place(path)))
            .collect();
        drop(index);
        for (path, place) in last {
            let removal = place.map(|place: Place| Event::Removed(Removal::Space(space.0, place)));
            removal.into_iter().for_each(|removal| path.inbox.tell(removal));
        }
        evicted
    }

    /// The blocks that can be found now, of one space or all, on one path or any.
    pub fn blocks(
        &self,
        space: Option<SsdSpaceId>,
        dir: Option<&FilePath>,
        order: BlockOrder,
    ) -> Vec<SsdBlock> {
        let index = self.tier.index.lock();
        let found = index.handles().filter_map(|handle| index.found(handle));
        let is_meant = |found: &Found| {
            space.is_none_or(|space| found.entry.space() == space)
                && dir.is_none_or(|dir| dir == found.segment.path.dir)
                && found.segment.path.is_usable()
        };
        let mut blocks: Vec<_> = found
            .filter(is_meant)
            .map(|found| {
                let uses = match order {
                    BlockOrder::Recent => 0,
                    BlockOrder::Frequent => found.entry.uses,
                };
                let age = (uses, found.segment.generation(), found.entry.offset);
                let hash_bytes = found.space.geometry.hash_bytes as usize;
                let block = SsdBlock {
                    space: found.entry.space(),
                    hash: found.entry.hash.iter().take(hash_bytes).copied().collect(),
                    bytes: found.space.bytes,
                };
                (age, block)
            })
            .collect();
        drop(index);
        blocks.sort_by_key(|(age, _)| std::cmp::Reverse(*age));
        blocks.into_iter().map(|(_, block)| block).collect()
    }

    /// All spaces, in the order of their ids.
    pub fn spaces(&self) -> Vec<SsdSpace> {
        let index = self.tier.index.lock();
        let spaces = index.spaces.iter().map(|(space, blocks)| SsdSpace {
            id: space.id,
            key: space.key,
            geometry: space.geometry.clone(),
            blocks,
            bytes: blocks * space.bytes,
        });
        spaces.collect()
    }

    /// How fast the disks are, all together.
    pub fn rate(&self) -> SsdRate {
        let paths = self.tier.paths.read();
        SsdRate {
            read: paths.iter().map(|path| path.counts.read_rate.get()).sum(),
            write: paths.iter().map(|path| path.counts.write_rate.get()).sum(),
        }
    }

    /// The state for status and metrics.
    pub fn snapshot(&self) -> SsdSnapshot {
        let paths = self.tier.paths.read().clone();
        let mut snapshot = SsdSnapshot {
            paths: paths.iter().map(|path| path.snapshot()).collect(),
            queued_write_bytes: self.tier.queue.bytes(),
            queued_read_bytes: paths.iter().map(|path| path.reads.bytes()).sum(),
            write_budget: self.write_budget,
            write_budget_left: self.tier.budget.left(today()),
            refused: self.tier.refused.each_ref().map(|count| count.get()),
            ..SsdSnapshot::default()
        };
        let index = self.tier.index.lock();
        for segment in index.segments.iter() {
            let at = paths
                .iter()
                .position(|path| Arc::ptr_eq(path, &segment.segment.path));
            if let Some(path) = at.and_then(|at| snapshot.paths.get_mut(at)) {
                path.blocks += segment.blocks;
                path.bytes += segment.bytes;
            }
            snapshot.blocks += segment.blocks;
            snapshot.bytes += segment.bytes;
        }
        snapshot.metadata_bytes = index.memory_bytes();
        snapshot
    }
}

/// What is said of blocks that no path is left for.
fn gone() -> Error {
    Error::new(ErrorKind::Io, "no path of the ssd tier is online any more")
}

/// What is said when a deadline passes before something has ended.
fn late(what: &str) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("{what} takes longer than it was given: try again with more time"),
    )
}
