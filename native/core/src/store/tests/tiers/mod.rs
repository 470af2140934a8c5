//! The pool and the ssd tier together, on a real directory.

mod admission;
mod beginning;
mod corrupt;
mod faults;
mod fetching;
mod model;
mod stress;
mod warming;
mod worth;
mod writing;

use std::ops::ControlFlow;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::fixture::{Fixture, Hash, eventually};
use crate::error::{ErrorKind, Result};
use crate::progress::Progress;
use crate::space::{SpaceId, SpaceKey};
use crate::ssd::{Disk, Ssd, SsdConfig, SsdPathConfig};
use crate::store::ssd::Tier;
use crate::store::tests::fixture::geometry;
use crate::store::{
    Admission, FetchSnapshot, Flush, FlushProgress, Found, PendingLookup, Store, StoreConfig, TierConfig,
    TierHits, TierSnapshot,
};

const MIB: u64 = 1 << 20;
const PAGE: u64 = 64 << 10;

/// A hash, and the bytes of each shard.
type Block = (Hash, Vec<Vec<u8>>);
type Blocks = Vec<Block>;

/// A store with an ssd tier in a directory that outlives it.
struct Tiers {
    fixture: Fixture,
    disk: TempDir,
}

/// The settings of an ssd tier in this directory.
fn tier(disk: &Path) -> TierConfig {
    TierConfig {
        ssd: SsdConfig {
            paths: vec![SsdPathConfig {
                dir: disk.join("ssd"),
                capacity: 256 * MIB,
            }],
            ..SsdConfig::default()
        },
        admission: Admission::All,
        fetch_bytes: 64 * MIB,
        min_benefit: 1.0,
    }
}

impl Tiers {
    fn new(pool_bytes: u64) -> Self {
        Self::with(pool_bytes, |_| {})
    }

    fn with(pool_bytes: u64, change: impl FnOnce(&mut TierConfig)) -> Self {
        Self::on(TempDir::new().unwrap(), pool_bytes, change)
    }

    /// A store with a new pool over what is on this disk.
    fn on(disk: TempDir, pool_bytes: u64, change: impl FnOnce(&mut TierConfig)) -> Self {
        let mut config = tier(disk.path());
        change(&mut config);
        let with_tier = |store: &mut StoreConfig| store.tier = Some(config);
        Self {
            fixture: Fixture::with(pool_bytes, with_tier),
            disk,
        }
    }

    /// A store over a disk that fails when it is told to.
    fn on_failing(disk: &Disk, pool_bytes: u64) -> Self {
        Self::on_failing_with(disk, pool_bytes, |_| {})
    }

    fn on_failing_with(disk: &Disk, pool_bytes: u64, change: impl FnOnce(&mut TierConfig)) -> Self {
        let (dir, pool_dir) = (TempDir::new().unwrap(), TempDir::new_in("/dev/shm").unwrap());
        let mut config = tier(dir.path());
        change(&mut config);
        let ssd = Ssd::open_on(config.ssd.clone(), disk).unwrap();
        let tier = Tier::over(ssd, &config, pool_bytes);
        let store = super::fixture::config(pool_dir.path(), pool_bytes);
        let store = Store::open_over(store, Some(tier)).unwrap();
        eventually("the pool is ready", || !store.snapshot().pool.is_growing);
        Self {
            fixture: Fixture { store, dir: pool_dir },
            disk: dir,
        }
    }

    /// Purges the pool, and opens a store over the same disk.
    fn restart(self, pool_bytes: u64) -> Self {
        self.restart_with(pool_bytes, |_| {})
    }

    fn restart_with(self, pool_bytes: u64, change: impl FnOnce(&mut TierConfig)) -> Self {
        self.flush();
        self.fixture.store.close(true).unwrap();
        let Self { fixture, disk } = self;
        drop(fixture);
        Self::on(disk, pool_bytes, change)
    }

    /// A space of this key, which is the same for each store.
    fn space(&self, key: SpaceKey, page_bytes: &[u64]) -> SpaceId {
        self.fixture.store.space(key, geometry(page_bytes)).unwrap()
    }

    fn flush(&self) {
        self.try_flush(Flush::Admitted).unwrap();
    }

    fn try_flush(&self, which: Flush) -> Result<FlushProgress> {
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut go_on = |_| ControlFlow::Continue(());
        self.fixture.store.flush(which, deadline, &mut go_on)
    }

    /// Saves blocks with fresh bytes; the bytes of all their shards.
    fn save(&self, space: SpaceId, shards: u32, count: usize) -> Blocks {
        let one = |_| {
            let hash = super::fixture::random_hash();
            let bytes = (0..shards).map(|shard| self.fixture.save_shard(space, shard, &hash));
            (hash, bytes.collect())
        };
        (0..count).map(one).collect()
    }

    fn begin(&self, space: SpaceId, hashes: &[Hash], recompute: Option<Duration>) -> Found {
        let store = &self.fixture.store;
        store
            .lookup_tiers(space, hashes.as_flattened(), recompute)
            .unwrap()
    }

    /// Looks up, and waits for what is on its way.
    fn lookup(&self, space: SpaceId, hashes: &[Hash]) -> TierHits {
        match self.begin(space, hashes, None) {
            Found::Ready(hits) => hits,
            Found::Pending(pending) => wait(pending),
        }
    }

    fn tier(&self) -> TierSnapshot {
        self.fixture.store.tier_snapshot().unwrap()
    }

    fn fetches(&self) -> FetchSnapshot {
        self.tier().fetches
    }

    /// Waits until nothing goes on, and checks that nothing is left of it.
    fn check_idle(&self) {
        eventually("nothing is on its way", || {
            let (tier, store) = (self.tier(), self.fixture.snapshot());
            let fetches = tier.fetches;
            fetches.in_flight_bytes == 0
                && tier.writes.in_flight_bytes == 0
                && tier.writes.queued_blocks == 0
                && store.in_flight_pages == 0
                && store.pinned_blocks == 0
        });
        let fetches = self.fetches();
        assert_eq!((fetches.queued_blocks, fetches.queued_bytes), (0, 0));
    }
}

fn key() -> SpaceKey {
    SpaceKey {
        namespace: super::fixture::random_hash(),
        group: 0,
    }
}

fn hashes(blocks: &[Block]) -> Vec<Hash> {
    blocks.iter().map(|(hash, _)| *hash).collect()
}

/// Checks that hits are these blocks, byte for byte.
fn check_bytes(hits: &TierHits, blocks: &[Block]) {
    assert_eq!(hits.hits.len(), blocks.len());
    for (index, (_, shards)) in blocks.iter().enumerate() {
        for (shard, bytes) in shards.iter().enumerate() {
            hits.hits.verify(index, shard as u32).unwrap();
            assert!(hits.hits.page(index, shard as u32).unwrap().read() == *bytes);
        }
    }
}

fn is_ready(pending: &mut PendingLookup) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    matches!(Pin::new(pending).poll(&mut context), Poll::Ready(()))
}

/// Waits for what is on its way.
fn wait(mut pending: PendingLookup) -> TierHits {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_ready(&mut pending) {
        assert!(Instant::now() < deadline, "{} are missing", pending.missing());
        std::thread::sleep(Duration::from_micros(100));
    }
    pending.finish()
}
