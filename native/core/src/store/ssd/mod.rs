//! The ssd tier below the pool: what was saved is written to it, and what lookups find there is fetched.
//!
//! Nothing in the pool ever waits for a disk: blocks are queued by key and pinned only while they are written, and a block
//! that is fetched is a save like any other until its bytes are there.

mod arrivals;
mod copied;
mod fetch;
mod flush;
mod job;
mod pending;
mod snapshot;
mod table;
mod warm;
mod warm_run;
mod worth;
mod writer;

pub use flush::{Flush, FlushProgress};
pub use pending::{Found, PendingLookup, TierHits};
pub use snapshot::{FetchSnapshot, TierSnapshot, WriteSnapshot};
pub use warm::{Warm, WarmProgress, WarmRequest, WarmState};

use std::time::{Duration, Instant};

use super::Store;
use super::space::Space;
use crate::error::{Error, ErrorKind, Result};
use crate::index::BlockKey;
use crate::ssd::{Extent, Ssd, SsdConfig, SsdSpaceId};
use crate::sync::{Arc, Ordering};
use fetch::Fetches;
use warm::Warming;
use worth::LastFetch;
use writer::Writer;

/// How long the disks have to end what they have begun.
const CLOSE_WAIT: Duration = Duration::from_secs(5);

/// Which blocks are written to the ssd tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Admission {
    /// Each block.
    #[default]
    All,
    /// Blocks that a lookup has found at least once.
    Reused,
}

/// The settings of the ssd tier of a store.
#[derive(Debug, Clone)]
pub struct TierConfig {
    /// Where it is.
    pub ssd: SsdConfig,
    /// Which blocks are written to it.
    pub admission: Admission,
    /// Bytes that may be on their way from it to lookups at once.
    pub fetch_bytes: u64,
    /// Blocks are fetched when computing them takes at least so many times as long; 0: always.
    pub min_benefit: f64,
}

/// The ssd tier of a store.
#[derive(Debug)]
pub(super) struct Tier {
    pub(super) ssd: Arc<Ssd>,
    fetches: Fetches,
    writer: Writer,
    warming: Warming,
    admission: Admission,
    min_benefit: f64,
    last_fetch: LastFetch,
}

impl Tier {
    /// Opens the paths; `pool_bytes` bounds what is pinned for writes.
    pub(super) fn open(config: TierConfig, pool_bytes: u64) -> Result<Self> {
        let ssd = Ssd::open(config.ssd.clone())?;
        Ok(Self::over(ssd, &config, pool_bytes))
    }

    /// A tier on disks that are open already.
    pub(super) fn over(ssd: Arc<Ssd>, config: &TierConfig, pool_bytes: u64) -> Self {
        Self {
            ssd,
            fetches: Fetches::new(config.fetch_bytes),
            writer: Writer::new(pool_bytes),
            warming: Warming::default(),
            admission: config.admission,
            min_benefit: config.min_benefit,
            last_fetch: LastFetch::default(),
        }
    }

    /// Starts to fetch and to write, first what was taken over and is not on ssd.
    pub(super) fn start(&self, store: &Arc<Store>) -> Result<()> {
        if self.admission == Admission::All {
            self.writer.sweep();
        }
        self.fetches.start(store)?;
        self.writer.start(store)
    }

    /// Asks the threads to end.
    pub(super) fn stop(&self) {
        self.fetches.stop();
        self.writer.stop(Instant::now());
    }

    /// Ends all that goes on.
    pub(super) fn close(&self) -> Result<()> {
        self.warming.stop();
        self.stop();
        self.fetches.join()?;
        self.writer.join()?;
        if let Err(error) = self.ssd.close(Instant::now() + CLOSE_WAIT) {
            tracing::error!("the ssd tier was not closed: {error}");
        }
        Ok(())
    }

    /// Where a block is on the disks.
    fn find(&self, space: &Space, key: &BlockKey) -> Option<Extent> {
        self.ssd.find(self.space(space)?, space.hash_of(key))
    }

    /// What the tier calls a space; None when it cannot have it.
    fn space(&self, space: &Space) -> Option<SsdSpaceId> {
        *space.on_ssd.get_or_init(|| {
            let id = self.ssd.space(space.key, &space.geometry);
            id.inspect_err(|error| {
                tracing::warn!(space = %space.key, "blocks of a namespace are not kept on ssd: {error}");
            })
            .ok()
        })
    }
}

impl Store {
    /// The disks of the ssd tier, if there is one.
    pub fn ssd(&self) -> Option<&Arc<Ssd>> {
        self.tier.get().map(|tier| &tier.ssd)
    }

    /// Opens the ssd paths of `config` while the store works. What else it says is of a tier that begins with them.
    ///
    /// # Errors
    /// As [`Ssd::add_path`]; `Conflict` for a store that is closed.
    pub fn add_ssd_paths(self: &Arc<Self>, config: TierConfig) -> Result<()> {
        let _turn = self.tier_turn.lock();
        if self.is_closing.load(Ordering::Relaxed) {
            return Err(Error::new(
                ErrorKind::Conflict,
                "the store is closed: nothing is added any more",
            ));
        }
        if let Some(ssd) = self.ssd() {
            return config
                .ssd
                .paths
                .into_iter()
                .try_for_each(|path| ssd.add_path(path));
        }
        let opened = Tier::open(config, self.pool.state().bytes)?;
        self.tier.get_or_init(|| opened).start(self)
    }
}
