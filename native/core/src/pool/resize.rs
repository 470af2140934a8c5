//! A pool that becomes larger or smaller while it is in use.
//!
//! A larger one gets memory behind what it has. A smaller one loses its last slabs, once the store has emptied them.

use super::growth::{self, allocate_file};
use super::place::Place;
use super::{Pool, PoolKind, Slot, machine};
use crate::error::{Error, ErrorKind, Result};
use crate::progress::Progress;
use crate::sync::Ordering;

/// What a shrinking pool gives back in one go: the kernel lets nobody in between.
const CHUNK_BYTES: u64 = 1 << 30;

impl Pool {
    /// The most bytes that the pool can be given while it is mapped.
    pub(crate) fn most_bytes(&self) -> u64 {
        self.geometry.most_bytes()
    }

    /// What a pool that was taken over should have, if that is not what it has.
    pub(crate) fn wanted_bytes(&self) -> Option<u64> {
        (self.wanted_bytes != self.bytes()).then_some(self.wanted_bytes)
    }

    /// The size that a request for `bytes` means: whole slabs, and at least one.
    ///
    /// # Errors
    /// `Config` for a size that this pool cannot have.
    pub(crate) fn size_for(&self, bytes: u64) -> Result<u64> {
        let most = self.most_bytes();
        if bytes > most {
            return Err(Error::new(
                ErrorKind::Config,
                format!(
                    "a pool of {bytes} bytes is more than the {most} bytes that this machine or control group has: give at most that"
                ),
            ));
        }
        Ok(self.geometry.resized(bytes, self.huge_page_bytes)?.pool_bytes)
    }

    /// Stops the thread that gives the pool memory, if it is not done; the bytes that have it.
    pub(crate) fn settle(&self) -> Result<u64> {
        self.stop_growing();
        self.join_grower()?;
        self.stops_growing.store(false, Ordering::Relaxed);
        Ok(self.growth.lock().ready_bytes)
    }

    /// Gives the pool memory until it has `bytes`, more than are ready now, or `goes_on` says no.
    ///
    /// # Errors
    /// `NoSpace` when there is not so much memory; the pool keeps what it got.
    pub(crate) fn grow_to(&self, bytes: u64, progress: &Progress, goes_on: impl Fn() -> bool) -> Result<()> {
        let mut reported = self.growth.lock().ready_bytes;
        self.check_room(bytes - reported)?;
        self.files.set_pool_bytes(bytes)?;
        self.set_growing(bytes);
        {
            let mut growth = self.growth.lock();
            growth.problem = None;
            growth.has_ended = false;
        }
        growth::grow(self, bytes, allocate_file, |ready| {
            progress.advance(0, ready - reported);
            reported = ready;
            goes_on()
        });
        let (ready, problem) = {
            let growth = self.growth.lock();
            (growth.ready_bytes, growth.problem.clone())
        };
        progress.advance(0, ready - reported);
        self.keep_size()?;
        match problem {
            Some(problem) => Err(Error::new(ErrorKind::NoSpace, problem)),
            None => Ok(()),
        }
    }

    fn set_growing(&self, bytes: u64) {
        let slabs = (bytes / self.geometry.slab_bytes) as u32;
        self.slabs.lock().begin_growth(slabs);
    }

    fn check_room(&self, more: u64) -> Result<()> {
        if self.kind != PoolKind::Hugetlbfs {
            machine::check_pool_is_available(more)?;
        }
        match self.path().and_then(|path| path.parent()) {
            Some(dir) => Place::directory(Some(dir))?.check_room(more),
            None => Ok(()),
        }
    }

    /// The memory that the pool has is what it should have.
    pub(crate) fn keep_size(&self) -> Result<()> {
        let bytes = {
            let mut growth = self.growth.lock();
            growth.problem = None;
            growth.bytes = growth.ready_bytes;
            growth.bytes
        };
        self.set_growing(bytes);
        // Growing that was stopped may have got memory that nobody was told of.
        self.files.give_back(bytes)?;
        self.files.set_pool_bytes(bytes)
    }

    /// Allocates nothing from the last slabs any more, which a pool of `bytes` does not have; the first slot there.
    pub(crate) fn begin_shrinking(&self, bytes: u64) -> Slot {
        let count = (bytes / self.geometry.slab_bytes) as u32;
        self.slabs.lock().begin_shrinking(count);
        self.geometry.first_slot(count)
    }

    /// The last slabs stay.
    pub(crate) fn cancel_shrinking(&self) {
        self.slabs.lock().cancel_shrinking();
    }

    /// Nobody reaches for what lies behind `bytes` any more, where no page is.
    pub(crate) fn cut_off(&self, bytes: u64) {
        self.slabs.lock().end_shrinking();
        let mut growth = self.growth.lock();
        growth.bytes = bytes;
        growth.ready_bytes = growth.ready_bytes.min(bytes);
        growth.has_ended = true;
        growth.problem = None;
    }

    /// Gives the memory behind `bytes` back, of `before`, from its end on.
    pub(crate) fn give_back(&self, bytes: u64, before: u64, progress: &Progress) -> Result<()> {
        let mut end = before;
        while end > bytes {
            let next = bytes.max(end.saturating_sub(CHUNK_BYTES));
            self.files.give_back(next)?;
            progress.advance(0, end - next);
            end = next;
        }
        self.files.set_pool_bytes(bytes)
    }
}
