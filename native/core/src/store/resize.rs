//! Another size for the memory tier, while it is in use.

use std::thread;
use std::time::{Duration, Instant};

use super::Store;
use super::relocate::Vacated;
use crate::error::{Error, ErrorKind, Result};
use crate::pool::{NodeBytes, Slot};
use crate::progress::Progress;
use crate::sync::{Arc, Ordering, Weak};

/// How long blocks in use are waited for while no other leaves the part that goes.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(10);

/// What a resize did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resized {
    /// Bytes of the pool before.
    pub before_bytes: u64,
    /// Bytes of the pool now: what was asked for in whole slabs, or how far a resize came that was cancelled.
    pub bytes: u64,
    /// Blocks that moved to other places of the pool.
    pub moved_blocks: u64,
    /// Blocks evicted because there was no room for them elsewhere.
    pub evicted_blocks: u64,
}

/// A device that has the pool's memory, and has to let go of it before the system gets it back.
pub(crate) trait MemoryUser: std::fmt::Debug + Send + Sync {
    /// It lets go of memory in whole units of this many bytes only.
    fn unit(&self) -> u64;

    /// Lets go of all that lies behind `bytes`, where nobody copies from or to any more.
    fn let_go(&self, bytes: u64);
}

impl Store {
    /// The most bytes that [`Store::resize_memory`] can give the pool: what the machine has.
    pub fn max_memory_bytes(&self) -> u64 {
        self.pool.most_bytes()
    }

    /// The pool's bytes on each NUMA node; empty where the kernel does not tell.
    pub fn memory_nodes(&self) -> Vec<NodeBytes> {
        self.pool.nodes()
    }

    /// The bytes that the pool has, or is about to have: one that was taken over in another size is brought to the one that it
    /// should have.
    pub fn settled_memory_bytes(&self) -> u64 {
        self.pool.wanted_bytes().unwrap_or_else(|| self.pool.bytes())
    }

    /// The size that [`Store::resize_memory`] would give a pool that is to have `bytes`: whole slabs.
    ///
    /// # Errors
    /// `Config` for a size that the pool cannot have.
    pub fn whole_memory_bytes(&self, bytes: u64) -> Result<u64> {
        self.pool.size_for(bytes)
    }

    /// Makes the pool this large, in whole slabs. Returns when the memory is there, or given back.
    ///
    /// A smaller pool keeps its hottest blocks: they move out of the part that goes, and the coldest of all go for them.
    /// Blocks in use there are waited for. The size holds until the daemon's next start, which goes by `--pool-size`.
    /// `progress` counts bytes of memory that came or went; a resize that is cancelled stops at what it has reached.
    ///
    /// # Errors
    /// `Config` for a size that the pool cannot have, `NoSpace` when there is not so much memory, `Conflict` when blocks in the
    /// part that goes stay in use, or another resize is under way.
    pub fn resize_memory(&self, bytes: u64, progress: &Progress) -> Result<Resized> {
        self.resize(bytes, progress, PATIENCE)
    }

    pub(super) fn resize(&self, bytes: u64, progress: &Progress, patience: Duration) -> Result<Resized> {
        let Some(_resizing) = self.resizing.try_lock() else {
            return Err(Error::new(
                ErrorKind::Conflict,
                "another resize of the memory tier is under way: wait until it is done",
            ));
        };
        let bytes = self.pool.size_for(bytes)?;
        if self.is_closing.load(Ordering::Relaxed) {
            return Err(Error::new(
                ErrorKind::Conflict,
                "the memory tier is closed: it keeps its size",
            ));
        }
        let goes_on = || !progress.is_cancelled() && !self.is_closing.load(Ordering::Relaxed);
        let before = self.pool.settle()?;
        progress.expect(0, before.abs_diff(bytes));
        let mut resized = Resized {
            before_bytes: before,
            ..Resized::default()
        };
        if bytes > before {
            self.pool.grow_to(bytes, progress, goes_on)?;
        } else if bytes < before {
            self.shrink(bytes, progress, patience, &mut resized, goes_on)?;
        } else {
            self.pool.keep_size()?;
        }
        resized.bytes = self.pool.bytes();
        tracing::info!(?resized, "the memory tier has another size");
        Ok(resized)
    }

    /// Brings a pool that was taken over and is too large to the size that it should have, in the background.
    pub(super) fn fit_taken_over(self: &Arc<Self>) -> Result<()> {
        let Some(bytes) = self.pool.wanted_bytes() else {
            return Ok(());
        };
        let store = Arc::clone(self);
        let fit = move || {
            if let Err(error) = store.resize_memory(bytes, &Progress::default()) {
                tracing::warn!("the pool stays larger than it should be: {error}");
            }
        };
        let thread = thread::Builder::new().name("pool-resize".into()).spawn(fit);
        thread
            .map(drop)
            .map_err(|error| Error::io("start the thread that resizes the pool", error))
    }

    fn shrink(
        &self,
        bytes: u64,
        progress: &Progress,
        patience: Duration,
        resized: &mut Resized,
        goes_on: impl Fn() -> bool,
    ) -> Result<()> {
        let user = self.memory_user.get().and_then(Weak::upgrade);
        let bytes = match &user {
            Some(user) => bytes.next_multiple_of(user.unit()),
            None => bytes,
        };
        if bytes >= resized.before_bytes {
            return self.pool.keep_size();
        }
        let first = {
            // Nobody is about to empty a slab that goes.
            let _turn = self.reclaim_turn.lock();
            self.pool.begin_shrinking(bytes)
        };
        match self.vacate_from(first, patience, resized, &goes_on) {
            Ok(true) => {}
            other => {
                self.pool.cancel_shrinking();
                return other.map(drop);
            }
        }
        self.pool.cut_off(bytes);
        if let Some(user) = user {
            user.let_go(bytes);
        }
        self.pool.give_back(bytes, resized.before_bytes, progress)
    }

    /// Empties all slots from `first` on; false when it was stopped before.
    fn vacate_from(
        &self,
        first: Slot,
        patience: Duration,
        resized: &mut Resized,
        goes_on: impl Fn() -> bool,
    ) -> Result<bool> {
        let mut last_gone = Instant::now();
        loop {
            let mut in_use = 0_u64;
            let gone_before = resized.moved_blocks + resized.evicted_blocks;
            let mut next = first;
            while let Some(slot) = self.pool.next_taken(next) {
                if !goes_on() {
                    return Ok(false);
                }
                match self.vacate(slot, first) {
                    Vacated::Moved => resized.moved_blocks += 1,
                    Vacated::Evicted => resized.evicted_blocks += 1,
                    Vacated::InUse => in_use += 1,
                }
                next = Slot(slot.0 + 1);
            }
            if in_use == 0 && self.pool.next_taken(first).is_none() {
                return Ok(true);
            }
            if resized.moved_blocks + resized.evicted_blocks > gone_before {
                last_gone = Instant::now();
            } else if last_gone.elapsed() >= patience {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!(
                        "pages in the part of the memory tier that should go are in use by engines, {in_use} of them: try again, or stop the engines"
                    ),
                ));
            }
            thread::sleep(PAUSE);
        }
    }
}
