//! A store in a directory of its own in /dev/shm, and short ways to use it.

use std::path::Path;
use std::time::{Duration, Instant};

use rand::RngCore;
use tempfile::TempDir;

use crate::eviction::PolicyKind;
use crate::pool::PagePtr;
use crate::space::{ShardGeometry, SpaceGeometry, SpaceId, SpaceKey, SpaceNumber};
use crate::store::{Hits, PageWriter, Reserved, SCRUB_PERIOD, Store, StoreConfig, StoreSnapshot, Verify};
use crate::sync::Arc;

pub(crate) const MIB: u64 = 1 << 20;

/// An open store whose whole pool is ready; removed when dropped.
pub(crate) struct Fixture {
    pub(crate) store: Arc<Store>,
    pub(crate) dir: TempDir,
}

pub(crate) type Hash = [u8; 32];

/// Bytes that no test has seen.
pub(crate) fn random_bytes(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    rand::rng().fill_bytes(&mut bytes);
    bytes
}

pub(crate) fn random_hash() -> Hash {
    random_bytes(32).try_into().unwrap()
}

/// Waits until `condition`, at most a minute.
pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Fixture {
    pub(crate) fn new(pool_bytes: u64) -> Self {
        Self::with_policy(pool_bytes, PolicyKind::Lru)
    }

    pub(crate) fn with_policy(pool_bytes: u64, policy: PolicyKind) -> Self {
        Self::with(pool_bytes, |config| config.policy = policy)
    }

    /// A store with other settings than the usual ones.
    pub(crate) fn with(pool_bytes: u64, change: impl FnOnce(&mut StoreConfig)) -> Self {
        let dir = TempDir::new_in("/dev/shm").unwrap();
        let mut config = config(dir.path(), pool_bytes);
        change(&mut config);
        Self::open(dir, config)
    }

    /// A store in this directory, which may have the pool of an earlier one.
    pub(crate) fn open(dir: TempDir, config: StoreConfig) -> Self {
        let store = Store::open(config).unwrap();
        eventually("the pool is ready", || !store.snapshot().pool.is_growing);
        assert_eq!(store.ready_bytes(), store.snapshot().pool.bytes);
        Self { store, dir }
    }

    /// A store of which only the caller makes room and checksums, so that each step has one outcome.
    pub(crate) fn quiet(pool_bytes: u64, policy: PolicyKind) -> Self {
        let fixture = Self::with_policy(pool_bytes, policy);
        fixture.stop_threads();
        fixture
    }

    /// From here on a snapshot's counts fit each other: whoever evicts between two of them is in one only.
    pub(crate) fn stop_threads(&self) {
        self.store.inspector.stop(Instant::now());
        self.store.inspector.join().unwrap();
        self.store.evictor.stop();
        self.store.evictor.join().unwrap();
    }

    /// Lets the store go as it is, without a close; its directory.
    pub(crate) fn abandon(self) -> TempDir {
        self.stop_threads();
        self.dir
    }

    /// Closes the store, and opens one that takes its pool over.
    pub(crate) fn reopen(self, change: impl FnOnce(&mut StoreConfig)) -> Self {
        let mut config = config(self.dir.path(), self.snapshot().pool.bytes);
        self.store.close(false).unwrap();
        change(&mut config);
        Self::open(self.abandon(), config)
    }

    /// Waits until no sealed page lacks its checksum.
    pub(crate) fn wait_for_checksums(&self, pages: u64) {
        eventually("all checksums are made", || {
            self.snapshot().checksums.made >= pages
        });
    }

    /// Waits until no page lacks its checksum, nor gets it just now.
    pub(crate) fn wait_for_inspector(&self) {
        eventually("no page waits", || self.store.inspector.pending() == 0);
    }

    /// A new space with these page sizes, one a shard.
    pub(crate) fn space(&self, page_bytes: &[u64]) -> SpaceId {
        let key = SpaceKey {
            namespace: random_hash(),
            group: 0,
        };
        self.store.space(key, geometry(page_bytes)).unwrap()
    }

    /// The space that was made first.
    pub(crate) fn first_space(&self) -> SpaceId {
        self.store.spaces.at(SpaceNumber(0)).unwrap().id
    }

    pub(crate) fn reserve(&self, space: SpaceId, shard: u32, hash: &Hash) -> Reserved {
        self.store.reserve(space, shard, hash, None).unwrap()
    }

    /// A page to fill; panics when there is none.
    pub(crate) fn writer(&self, space: SpaceId, shard: u32, hash: &Hash) -> PageWriter {
        match self.reserve(space, shard, hash) {
            Reserved::Page(writer) => writer,
            other => panic!("expected a page, not {other:?}"),
        }
    }

    /// Saves one shard with fresh bytes; the bytes.
    pub(crate) fn save_shard(&self, space: SpaceId, shard: u32, hash: &Hash) -> Vec<u8> {
        let writer = self.writer(space, shard, hash);
        let bytes = random_bytes(writer.page().len());
        writer.page().write(&bytes);
        writer.seal();
        bytes
    }

    /// Saves a block of one shard; its hash and bytes.
    pub(crate) fn save(&self, space: SpaceId) -> (Hash, Vec<u8>) {
        let hash = random_hash();
        let bytes = self.save_shard(space, 0, &hash);
        (hash, bytes)
    }

    pub(crate) fn lookup(&self, space: SpaceId, hashes: &[Hash]) -> Hits {
        self.store.lookup(space, hashes.as_flattened()).unwrap()
    }

    /// The bytes of one shard of a cached block.
    pub(crate) fn read(&self, space: SpaceId, shard: u32, hash: &Hash) -> Option<Vec<u8>> {
        let hits = self.lookup(space, &[*hash]);
        hits.page(0, shard).map(PagePtr::read)
    }

    pub(crate) fn snapshot(&self) -> StoreSnapshot {
        self.store.snapshot()
    }
}

/// The settings of a store in this directory.
pub(crate) fn config(dir: &Path, pool_bytes: u64) -> StoreConfig {
    StoreConfig {
        pool_bytes,
        pool_dir: Some(dir.to_owned()),
        socket: dir.join("daemon.sock"),
        boot_id: rand::rng().next_u64(),
        policy: PolicyKind::Lru,
        verify: Verify::First,
        scrub_period: SCRUB_PERIOD,
        tier: None,
    }
}

/// A geometry of 32-byte hashes with these page sizes, one a shard.
pub(crate) fn geometry(page_bytes: &[u64]) -> SpaceGeometry {
    let shards = page_bytes.iter().map(|bytes| ShardGeometry {
        page_bytes: *bytes,
        digest: [7; 32],
    });
    SpaceGeometry {
        hash_bytes: 32,
        shards: shards.collect(),
    }
}
