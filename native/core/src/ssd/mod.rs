//! The SSD tier: blocks in log-structured segment files, one directory a disk, that survive the daemon.
//!
//! `native/docs/format.md` has the files byte by byte.

mod block;
mod config;
mod extent;
mod snapshot;

pub use block::{
    BlockOrder, BlockWrite, Evicted, PathFiles, Priority, ReadDone, Refused, SsdBlock, SsdSpace, SsdSpaceId,
    VerifyProgress, WriteDone,
};
pub use config::{IoEngineKind, MIN_CAPACITY, SsdConfig, SsdPathConfig};
pub use extent::{Extent, ReadTicket};
pub use snapshot::{
    FIRST_LATENCY_BOUND_NS, LATENCY_BUCKETS, LatencyCounts, PathState, Recovery, SsdPathSnapshot, SsdRate,
    SsdSnapshot,
};

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::error::{Error, ErrorKind, Result};
use crate::pool::PagePtr;
use crate::space::{SpaceGeometry, SpaceKey};

/// The SSD tier.
#[derive(Debug)]
pub struct Ssd {
    config: SsdConfig,
}

impl Ssd {
    /// Opens all paths and finds the blocks that are there.
    ///
    /// A path that cannot be read or written is offline, and is tried again.
    ///
    /// # Errors
    /// `Config` for a path that no tier can have, `Conflict` for one that is another daemon's, machine's or format's.
    pub fn open(config: SsdConfig) -> Result<Arc<Self>> {
        Ok(Arc::new(Self { config }))
    }

    /// The space of this key: made if it is new. The paths hear of it with its first block.
    ///
    /// # Errors
    /// `Conflict` for a key that has another geometry: [`Ssd::remove_space`] lets it have a new one. `Limit` for too many spaces.
    pub fn space(&self, _key: SpaceKey, _geometry: &SpaceGeometry) -> Result<SsdSpaceId> {
        Err(not_yet())
    }

    /// Whether a block could be read now.
    pub fn contains(&self, space: SsdSpaceId, hash: &[u8]) -> bool {
        self.find(space, hash).is_some()
    }

    /// Where a block is. Its bytes stay there as long as the answer lives, so let it go soon; no use is counted.
    pub fn find(&self, _space: SsdSpaceId, _hash: &[u8]) -> Option<Extent> {
        None
    }

    /// Begins to write a block, on whichever path is free first; never waits for a disk.
    ///
    /// The block can be found when `done` hears `Ok`, and outlives a loss of power once [`Ssd::flush`] has returned, or about
    /// 100 ms later.
    ///
    /// # Errors
    /// Why it is not written: the write is dropped, `done` not called.
    pub fn write(&self, _write: BlockWrite) -> std::result::Result<(), Refused> {
        Err(Refused::Offline)
    }

    /// Waits until a write would not be refused as `Busy`; false when `deadline` passes before.
    pub fn wait_for_room(&self, _deadline: Instant) -> bool {
        true
    }

    /// Begins to read a block into `pages`, one a shard, which nobody else may touch until `done` is called or dropped.
    ///
    /// Each page begins at a multiple of 4,096, and the bytes behind it up to the next such multiple are written too. `done` hears
    /// `Ok` when all pages are what their checksums say; `Corrupt` when not, and `Io` when the disk fails: the block has left the
    /// tier then. `Invalid` for pages of another number or length than the block's.
    pub fn read(
        &self,
        _extent: Extent,
        _pages: Vec<PagePtr>,
        _priority: Priority,
        done: ReadDone,
    ) -> ReadTicket {
        done(Err(not_yet()));
        ReadTicket {}
    }

    /// Waits until everything that was accepted so far is safe from a loss of power.
    ///
    /// # Errors
    /// `Io` when a path failed meanwhile or `deadline` passes before.
    pub fn flush(&self, _deadline: Instant) -> Result<()> {
        Ok(())
    }

    /// Takes a block out; whether it was there. Safe from a loss of power after the next flush.
    pub fn remove(&self, _space: SsdSpaceId, _hash: &[u8]) -> bool {
        false
    }

    /// Takes all blocks of a space out. Safe from a loss of power after the next flush.
    pub fn remove_space(&self, _space: SsdSpaceId) -> Evicted {
        Evicted::default()
    }

    /// The blocks that can be found now, of one space or all.
    pub fn blocks(&self, _space: Option<SsdSpaceId>, _order: BlockOrder) -> Vec<SsdBlock> {
        Vec::new()
    }

    /// All spaces, in the order of their ids.
    pub fn spaces(&self) -> Vec<SsdSpace> {
        Vec::new()
    }

    /// Opens one more path while the others go on.
    ///
    /// # Errors
    /// As for [`Ssd::open`]; `Conflict` for a directory that the tier has.
    pub fn add_path(&self, _path: SsdPathConfig) -> Result<()> {
        Err(not_yet())
    }

    /// Ends a path: writes what it has accepted, waits for reads of it, and lets its blocks go.
    ///
    /// # Errors
    /// `NotFound` for a directory that the tier has not, `Io` when `deadline` passes before or the files cannot be deleted.
    pub fn remove_path(&self, _dir: &Path, _files: PathFiles, _deadline: Instant) -> Result<()> {
        Err(not_yet())
    }

    /// Changes the capacity of a path; a smaller one evicts the oldest segments, and returns when their files are gone.
    ///
    /// # Errors
    /// `NotFound` for a directory that the tier has not, `Config` below [`MIN_CAPACITY`], `Io` when `deadline` passes before.
    pub fn resize(&self, _dir: &Path, _capacity: u64, _deadline: Instant) -> Result<()> {
        Err(not_yet())
    }

    /// Evicts the oldest blocks in whole segments, `bytes` at least, from one path or as much of all; what was evicted.
    ///
    /// # Errors
    /// `NotFound` for a directory that the tier has not, `Io` when a path fails or `deadline` passes before.
    pub fn evict(&self, _dir: Option<&Path>, _bytes: u64, _deadline: Instant) -> Result<Evicted> {
        Err(not_yet())
    }

    /// Reads all blocks of a path that are there now, as `Warm`, and drops those that are not what was saved.
    ///
    /// `progress` is called after each block, and ends the verification by `Break`; the last progress is returned.
    ///
    /// # Errors
    /// `NotFound` for a directory that the tier has not, `Io` when the path goes offline.
    pub fn verify(
        &self,
        _dir: &Path,
        _progress: &mut dyn FnMut(VerifyProgress) -> ControlFlow<()>,
    ) -> Result<VerifyProgress> {
        Err(not_yet())
    }

    /// How fast the disks are, all together.
    pub fn rate(&self) -> SsdRate {
        SsdRate::default()
    }

    /// The state for status and metrics.
    pub fn snapshot(&self) -> SsdSnapshot {
        SsdSnapshot {
            write_budget: self.config.write_budget,
            ..SsdSnapshot::default()
        }
    }

    /// Refuses new writes, finishes and flushes those that were accepted, and ends all threads and locks.
    ///
    /// Reads that have not begun are dropped. Nothing is found afterwards.
    ///
    /// # Errors
    /// `Io` when a path failed or `deadline` passes before all is safe: the rest is lost, as with a kill.
    pub fn close(&self, _deadline: Instant) -> Result<()> {
        Ok(())
    }
}

fn not_yet() -> Error {
    Error::new(ErrorKind::NotFound, "the ssd tier has no paths yet")
}
