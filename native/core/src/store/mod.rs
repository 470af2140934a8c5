//! The memory tier, and the ssd tier below it, as the daemon uses them: look up, save, warm, snapshot, close.

mod config;
mod departures;
mod evict;
mod evictor;
mod inspector;
mod lookup;
mod namespace;
mod reclaim;
mod relocate;
mod resize;
mod save;
mod scrub;
mod snapshot;
mod space;
mod spaces;
mod ssd;
mod takeover;
#[cfg(test)]
pub(crate) mod tests;
mod verify;
mod verify_all;

pub use config::{SCRUB_PERIOD, StoreConfig};
pub use evict::Evicted;
pub use lookup::Hits;
pub use namespace::{NamespaceSnapshot, PINNED_PERCENT};
pub(crate) use resize::MemoryUser;
pub use resize::Resized;
pub use save::{PARTIAL_BLOCK_TTL, PageWriter, Reserved};
pub use snapshot::{ChecksumSnapshot, PoolSnapshot, SpaceSnapshot, StoreSnapshot};
pub use ssd::{
    Admission, FetchSnapshot, Flush, FlushProgress, Found, PendingLookup, TierConfig, TierHits, TierSnapshot,
    Warm, WarmProgress, WarmRequest, WarmState, WriteSnapshot,
};
pub use takeover::TakeOver;
pub use verify::Verify;
pub use verify_all::Verified;

use std::time::{Duration, Instant};

use crate::demand::Demand;
use crate::error::{Error, ErrorKind, Result};
use crate::eviction::{PolicyKind, Tick};
use crate::index::Index;
use crate::pool::{MAX_SPACES, PagePtr, Pool, PoolConfig};
use crate::space::{SpaceGeometry, SpaceId, SpaceKey};
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, OnceLock, Ordering, Weak};
use crate::what_if::{Curve, WhatIf};
use evictor::Evictor;
use inspector::Inspector;
pub use spaces::SpaceHold;
use spaces::Spaces;
use ssd::Tier;

/// How long a close waits for the checksums of what was sealed last.
const CHECKSUM_WAIT: Duration = Duration::from_secs(5);

/// The memory tier, and what is below it.
#[derive(Debug)]
pub struct Store {
    pool: Arc<Pool>,
    index: Index,
    spaces: Spaces,
    evictor: Evictor,
    inspector: Inspector,
    /// Who makes room; taken before any other lock.
    reclaim_turn: Mutex<()>,
    /// Who resizes the pool; taken before any other lock.
    resizing: Mutex<()>,
    /// Who changes what is set for a namespace; taken before the locks of namespaces and rules.
    rule_turn: Mutex<()>,
    is_closing: AtomicBool,
    memory_user: OnceLock<Weak<dyn MemoryUser>>,
    policy: PolicyKind,
    opened: Instant,
    verify: Verify,
    /// Begins with the store, or with its first path.
    tier: OnceLock<Tier>,
    /// Who starts or closes the ssd tier.
    tier_turn: Mutex<()>,
    taken_over: OnceLock<TakeOver>,
    what_if: WhatIf,
    demand: Demand,
    counts: Counts,
}

/// What belongs to no space.
#[derive(Debug, Default)]
struct Counts {
    /// When a block was last used.
    clock: AtomicU64,
    /// Reservations, in the order in which their slot records were written.
    sequence: AtomicU64,
    in_flight_pages: AtomicU64,
    partial_blocks_dropped: AtomicU64,
    pinned_blocks: AtomicU64,
    no_space: AtomicU64,
    checksums_made: AtomicU64,
    verified: VerifiedCounts,
    scrubbed_pages: AtomicU64,
    scrub_rounds: AtomicU64,
    corrupt_blocks: AtomicU64,
}

/// What loads compared with checksums, and what that took.
#[derive(Debug, Default)]
struct VerifiedCounts {
    pages: AtomicU64,
    bytes: AtomicU64,
    nanoseconds: AtomicU64,
}

impl Store {
    /// Maps the pool and its slot table and has the first memory; a thread goes on to reserve the rest.
    ///
    /// The blocks of a pool that an ended daemon of the same socket left are cached again when it returns, and so are those
    /// that are on ssd.
    ///
    /// # Errors
    /// `Config` for a pool or ssd path that cannot be had as asked, `Conflict` for one that a living daemon owns.
    pub fn open(mut config: StoreConfig) -> Result<Arc<Self>> {
        let tier = config.tier.take();
        let tier = tier.map(|tier| Tier::open(tier, config.pool_bytes)).transpose()?;
        Self::open_over(config, tier)
    }

    /// The same with a tier below the pool that is open already.
    fn open_over(config: StoreConfig, tier: Option<Tier>) -> Result<Arc<Self>> {
        if config.scrub_period.is_zero() {
            return Err(Error::new(
                ErrorKind::Config,
                "the time to look at all pages is 0 s: give more, or have none verified",
            ));
        }
        let pool = Pool::open(PoolConfig {
            pool_bytes: config.pool_bytes,
            dir: config.pool_dir.as_deref(),
            socket: &config.socket,
            boot_id: config.boot_id,
        })?;
        let what_if = WhatIf::new(config.policy, pool.bytes());
        let store = Arc::new(Self {
            pool,
            index: Index::new(),
            spaces: Spaces::new(MAX_SPACES),
            evictor: Evictor::default(),
            inspector: Inspector::default(),
            reclaim_turn: Mutex::new(()),
            resizing: Mutex::new(()),
            rule_turn: Mutex::new(()),
            is_closing: AtomicBool::new(false),
            memory_user: OnceLock::new(),
            policy: config.policy,
            opened: Instant::now(),
            verify: config.verify,
            tier: tier.map_or_else(OnceLock::new, OnceLock::from),
            tier_turn: Mutex::new(()),
            taken_over: OnceLock::new(),
            what_if,
            demand: Demand::default(),
            counts: Counts::default(),
        });
        if let Some(taken_over) = store.take_over()? {
            let _ = store.taken_over.set(taken_over);
        }
        store.evictor.start(&store)?;
        store.inspector.start(&store, config.scrub_period)?;
        store.what_if.start()?;
        if let Some(tier) = store.tier.get() {
            tier.start(&store)?;
        }
        store.fit_taken_over()?;
        Ok(store)
    }

    /// Bytes of a block of this space.
    ///
    /// # Errors
    /// `NotFound` for a space that has gone.
    pub fn block_bytes(&self, id: SpaceId) -> Result<u64> {
        Ok(self.spaces.get(id)?.block_bytes)
    }

    /// What pools of other sizes would have hit, about.
    pub fn what_if(&self) -> Curve {
        self.what_if.curve(self.pool.bytes())
    }

    /// Pool bytes that can hold pages by now.
    pub fn ready_bytes(&self) -> u64 {
        self.pool.state().ready_bytes
    }

    /// Fills the page tables for some bytes of the pool below [`Store::ready_bytes`], where the kernel can.
    pub(crate) fn populate(&self, offset: u64, bytes: u64) {
        self.pool.populate(offset, bytes);
    }

    /// The whole pool's memory, of which [`Store::ready_bytes`] may be touched.
    pub(crate) fn memory(&self) -> PagePtr {
        self.pool.memory()
    }

    /// Who is told before memory of the pool goes; there is one at most.
    pub(crate) fn set_memory_user(&self, user: Weak<dyn MemoryUser>) {
        // A second one would have to be told too, and there is none.
        let _ = self.memory_user.set(user);
    }

    /// The space of this key: made if it is new.
    ///
    /// # Errors
    /// `Conflict` for a key that has another geometry, `Invalid` or `Config` for a geometry that no space of this pool can have.
    pub fn space(&self, key: SpaceKey, geometry: SpaceGeometry) -> Result<SpaceId> {
        self.spaces.get_or_make(&self.pool, self.policy, key, geometry)
    }

    /// Keeps a space from going, also while it has no blocks: for as long as an engine uses it.
    ///
    /// # Errors
    /// `NotFound` for a space that has gone.
    pub fn hold_space(&self, id: SpaceId) -> Result<SpaceHold> {
        self.spaces.hold(id)
    }

    /// Stops the threads; pages in use stay mapped until they are let go.
    ///
    /// A pool with pages in it stays for the next daemon, after all sealed pages have their checksums or five seconds have
    /// passed; with `purge`, and as anonymous memory, it is removed. Returns the bytes of memory that stay taken.
    ///
    /// What is on ssd stays there in any case; what is not yet, [`Store::flush`] brings there before.
    ///
    /// # Errors
    /// `Io` when a file cannot be removed.
    pub fn close(&self, purge: bool) -> Result<u64> {
        let wait = if purge { Duration::ZERO } else { CHECKSUM_WAIT };
        self.is_closing.store(true, Ordering::Relaxed);
        let _resizing = self.resizing.lock();
        self.evictor.stop();
        self.inspector.stop(Instant::now() + wait);
        self.what_if.stop();
        self.evictor.join()?;
        self.inspector.join()?;
        self.what_if.join()?;
        let _turn = self.tier_turn.lock();
        if let Some(tier) = self.tier.get() {
            tier.close()?;
        }
        let kept = self.pool.close(purge)?;
        tracing::info!(purge, kept, "the pool is closed");
        Ok(kept)
    }

    /// The time of the next use: later than that of any other.
    fn tick(&self) -> Tick {
        let now = self.opened.elapsed().as_micros() as Tick;
        let later = |last: Tick| now.max(last + 1);
        let update = |last| Some(later(last));
        let last = self
            .counts
            .clock
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, update);
        last.map_or(now, later)
    }

    /// The time of the last uses.
    fn now(&self) -> Tick {
        self.counts.clock.load(Ordering::Relaxed)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.evictor.stop();
        self.inspector.stop(Instant::now());
        self.what_if.stop();
        if let Some(tier) = self.tier.get() {
            tier.stop();
        }
        self.pool.stop_growing();
    }
}
