//! The memory tier as the daemon uses it: look up, save, snapshot, close.

mod config;
mod evictor;
mod lookup;
mod reclaim;
mod save;
mod snapshot;
mod space;
#[cfg(test)]
pub(crate) mod tests;

pub use config::StoreConfig;
pub use lookup::Hits;
pub use save::{PARTIAL_BLOCK_TTL, PageWriter, Reserved};
pub use snapshot::{PoolSnapshot, SpaceSnapshot, StoreSnapshot};

use crate::error::Result;
use crate::eviction::{PolicyKind, Tick};
use crate::index::Index;
use crate::pool::{Pool, PoolConfig};
use crate::space::{SpaceGeometry, SpaceId, SpaceKey};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};
use evictor::Evictor;
use space::Spaces;

/// The memory tier.
#[derive(Debug)]
pub struct Store {
    pool: Arc<Pool>,
    index: Index,
    spaces: Spaces,
    evictor: Evictor,
    /// Who makes room; taken before any other lock.
    reclaim_turn: Mutex<()>,
    policy: PolicyKind,
    counts: Counts,
}

/// What belongs to no space.
#[derive(Debug, Default)]
struct Counts {
    /// Uses of blocks, by which their ages are compared.
    clock: AtomicU64,
    /// Reservations, in the order in which their slot records were written.
    sequence: AtomicU64,
    in_flight_pages: AtomicU64,
    partial_blocks_dropped: AtomicU64,
    pinned_blocks: AtomicU64,
    no_space: AtomicU64,
}

impl Store {
    /// Maps the pool and its slot table and has the first memory; a thread goes on to reserve the rest.
    ///
    /// # Errors
    /// `Config` for a pool that cannot be had as asked, `Conflict` for one that a living daemon owns.
    pub fn open(config: StoreConfig) -> Result<Arc<Self>> {
        let pool = Pool::open(PoolConfig {
            pool_bytes: config.pool_bytes,
            dir: config.pool_dir.as_deref(),
            socket: &config.socket,
            boot_id: config.boot_id,
        })?;
        let store = Arc::new(Self {
            pool,
            index: Index::new(),
            spaces: Spaces::default(),
            evictor: Evictor::default(),
            reclaim_turn: Mutex::new(()),
            policy: config.policy,
            counts: Counts::default(),
        });
        store.evictor.start(&store)?;
        Ok(store)
    }

    /// Pool bytes that can hold pages by now.
    pub fn ready_bytes(&self) -> u64 {
        self.pool.state().ready_bytes
    }

    /// The space of this key: made if it is new.
    ///
    /// # Errors
    /// `Conflict` for a key that has another geometry, `Invalid` or `Config` for a geometry that no space of this pool can have.
    pub fn space(&self, key: SpaceKey, geometry: SpaceGeometry) -> Result<SpaceId> {
        self.spaces.get_or_make(&self.pool, self.policy, key, geometry)
    }

    /// Stops the threads and removes pool and slot table; pages in use stay mapped until they are let go.
    ///
    /// Returns the pool bytes that stay taken for the next daemon: none, whether or not `purge` asks for that.
    ///
    /// # Errors
    /// `Io` when a file cannot be removed.
    pub fn close(&self, purge: bool) -> Result<u64> {
        self.evictor.stop();
        self.evictor.join()?;
        self.pool.close()?;
        tracing::info!(purge, "the pool is removed");
        Ok(0)
    }

    /// The time of the next use.
    fn tick(&self) -> Tick {
        self.counts.clock.fetch_add(1, Ordering::Relaxed) as Tick
    }

    /// The time of the last uses.
    fn now(&self) -> Tick {
        self.counts.clock.load(Ordering::Relaxed) as Tick
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.evictor.stop();
        self.pool.stop_growing();
    }
}
