//! The daemon's side: GPUs and a pool, and copies between both.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pegaflow_core::copy::{CopyEngine, CudaCopyEngine, LoadPage, Pins, SavePage};
use pegaflow_core::cuda::{GpuSettings, Gpus, GpusSnapshot};
use pegaflow_core::eviction::PolicyKind;
use pegaflow_core::lease::{LeaseTable, LoadPass, SessionId};
use pegaflow_core::space::{ShardGeometry, SpaceGeometry, SpaceKey};
use pegaflow_core::store::{PageWriter, Reserved, SCRUB_PERIOD, Store, StoreConfig, Verify};
use rand::RngCore;
use tempfile::TempDir;

use crate::device;
use crate::engine::Engine;
use crate::memory::{DeviceMemory, one_run};
use crate::stage::Stage;

/// A store, and the GPUs that its pool is pinned for.
pub(crate) struct Daemon {
    pub(crate) gpus: Arc<Gpus>,
    pub(crate) store: Arc<Store>,
    _dir: TempDir,
}

impl Daemon {
    pub(crate) fn start(pool_bytes: u64) -> Self {
        Self::with_settings(pool_bytes, GpuSettings::default())
    }

    pub(crate) fn with_settings(pool_bytes: u64, settings: GpuSettings) -> Self {
        let dir = TempDir::new_in("/dev/shm").unwrap();
        let store = Store::open(StoreConfig {
            pool_bytes,
            pool_dir: Some(dir.path().to_owned()),
            socket: dir.path().join("daemon.sock"),
            boot_id: rand::random(),
            policy: PolicyKind::Lru,
            verify: Verify::Off,
            scrub_period: SCRUB_PERIOD,
            tier: None,
        })
        .unwrap();
        Self {
            gpus: Gpus::start(&store, settings).unwrap(),
            store,
            _dir: dir,
        }
    }

    /// The GPUs, once they are known.
    pub(crate) fn settled(&self) -> GpusSnapshot {
        self.when("the GPUs are known", |snapshot| snapshot.state != "starting")
    }

    fn when(&self, what: &str, is_so: impl Fn(&GpusSnapshot) -> bool) -> GpusSnapshot {
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let snapshot = self.gpus.snapshot();
            if is_so(&snapshot) {
                return snapshot;
            }
            assert!(
                Instant::now() < deadline,
                "not within a minute: {what}: {snapshot:?}"
            );
            thread::sleep(Duration::from_millis(2));
        }
    }

    /// Memory of the GPU that somebody has.
    pub(crate) fn used_device_bytes(&self) -> u64 {
        self.settled();
        device::used_bytes()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.gpus.close();
        self.store.close(true).unwrap();
    }
}

pub(crate) fn the_whole_pool_is_pinned_and_let_go() {
    const POOL: u64 = 200 << 20;
    let daemon = Daemon::start(POOL);
    let pool = daemon.store.snapshot().pool.bytes;
    let ready = daemon.when("the pool is pinned", |snapshot| snapshot.pinned_bytes == pool);
    assert_eq!(ready.state, "ready");
    assert!(!ready.devices.is_empty());
    daemon.gpus.close();
    assert_eq!(daemon.gpus.snapshot().pinned_bytes, 0);
}

pub(crate) fn each_way_of_copies_passes_the_self_test() {
    let daemon = Daemon::start(64 << 20);
    let tests = daemon.settled().self_tests;
    assert!(!tests.is_empty());
    for test in tests {
        assert_eq!(test.problem(), None);
        assert_eq!(test.bytes, 1 << 20);
    }
}

pub(crate) fn pages_of_the_pool_come_back_as_they_were_saved() {
    // In all more than the 32 MiB in which the pool is pinned.
    const PAGE: u64 = 1_500_000;
    const BLOCKS: u32 = 60;
    let (daemon, engine) = (Daemon::start(200 << 20), Engine::start());
    let memory = DeviceMemory::new(&daemon, &engine, PAGE as usize * BLOCKS as usize);
    let copies = memory.open(BLOCKS, vec![one_run(memory.base(), PAGE)]).unwrap();
    save_and_load(&daemon, &memory, &copies);
}

pub(crate) fn a_few_pages_are_copied_while_their_caller_goes_on() {
    const PAGE: u64 = 700_000;
    const BLOCKS: u32 = 12;
    let (daemon, engine) = (Daemon::start(200 << 20), Engine::start());
    let memory = DeviceMemory::new(&daemon, &engine, PAGE as usize * BLOCKS as usize);
    let copies = memory.open(BLOCKS, vec![one_run(memory.base(), PAGE)]).unwrap();
    for waits in [true, false] {
        let (bytes, pass) = saved(&daemon, &memory, &copies);
        let pass = Arc::new(pass);
        let pins: Pins = Arc::<LoadPass>::clone(&pass);
        let begun = copies.begin_write(&backwards(&pass, BLOCKS), &pins).unwrap();
        let copying = begun.unwrap();
        let kept = Arc::downgrade(&pass);
        drop((pass, pins));
        assert!(kept.upgrade().is_some(), "copies keep their pages in place");
        if waits {
            while !copying.has_ended() {
                thread::yield_now();
            }
            copying.finish().unwrap();
        } else {
            drop(copying);
        }
        assert!(kept.upgrade().is_none());
        assert!(memory.peek() == reversed(&bytes, PAGE), "waits: {waits}");
    }
}

pub(crate) fn neighbours_are_begun_as_one_copy_where_they_are_pinned_as_one() {
    // In all more than the 32 MiB in which the pool is pinned.
    const PAGE: u64 = 1 << 20;
    const BLOCKS: u32 = 40;
    let (daemon, engine) = (Daemon::start(200 << 20), Engine::start());
    let memory = DeviceMemory::new(&daemon, &engine, PAGE as usize * BLOCKS as usize);
    let copies = memory.open(BLOCKS, vec![one_run(memory.base(), PAGE)]).unwrap();
    let (bytes, pass) = saved(&daemon, &memory, &copies);
    let pass = Arc::new(pass);
    let pins: Pins = Arc::<LoadPass>::clone(&pass);
    let pages: Vec<LoadPage<'_>> = (0..BLOCKS)
        .map(|block| LoadPage::new(block, &pass, block as usize, 0).unwrap())
        .collect();
    // Forty copies would be too many to begin.
    copies
        .begin_write(&pages, &pins)
        .unwrap()
        .unwrap()
        .finish()
        .unwrap();
    assert!(memory.peek() == bytes);
}

pub(crate) fn many_runs_are_not_begun_by_their_caller() {
    const RUN: u64 = 4_096;
    const BLOCKS: u32 = 12;
    let (daemon, engine) = (Daemon::start(200 << 20), Engine::start());
    let memory = DeviceMemory::new(&daemon, &engine, 4 * RUN as usize * BLOCKS as usize);
    let layers = (0..4).map(|layer| one_run(memory.base() + layer * RUN * u64::from(BLOCKS), RUN));
    let copies = memory.open(BLOCKS, layers.collect()).unwrap();
    let (_, pass) = saved(&daemon, &memory, &copies);
    let before = memory.peek();
    let pass = Arc::new(pass);
    let pins: Pins = Arc::<LoadPass>::clone(&pass);
    let begun = copies.begin_write(&backwards(&pass, BLOCKS), &pins).unwrap();
    assert!(begun.is_none());
    assert!(memory.peek() == before);
}

/// Fresh bytes in all blocks, which fill the memory; they are saved, and loaded in another order.
pub(crate) fn save_and_load(daemon: &Daemon, memory: &DeviceMemory<'_>, copies: &CudaCopyEngine) {
    let (bytes, pass) = saved(daemon, memory, copies);
    copies
        .write(&backwards(&pass, copies.layout().num_blocks()))
        .unwrap();
    assert!(memory.peek() == reversed(&bytes, copies.page_bytes()));
    assert!(daemon.gpus.snapshot().pinned_bytes > 0);
}

/// The last block's page for the first block, and so on.
fn backwards(pass: &LoadPass, blocks: u32) -> Vec<LoadPage<'_>> {
    (0..blocks)
        .map(|index| LoadPage::new(blocks - 1 - index, pass, index as usize, 0).unwrap())
        .collect()
}

fn reversed(bytes: &[u8], page_bytes: u64) -> Vec<u8> {
    let pages = bytes.chunks(page_bytes as usize);
    pages.rev().flatten().copied().collect()
}

/// Fresh bytes of all blocks, and a load of them; the memory has zeros then.
fn saved(daemon: &Daemon, memory: &DeviceMemory<'_>, copies: &CudaCopyEngine) -> (Vec<u8>, LoadPass) {
    let (page_bytes, blocks) = (copies.page_bytes(), copies.layout().num_blocks());
    let mut bytes = vec![0; page_bytes as usize * blocks as usize];
    rand::rng().fill_bytes(&mut bytes);
    memory.poke(&bytes);

    let key = SpaceKey {
        namespace: rand::random(),
        group: 0,
    };
    let shard = ShardGeometry {
        page_bytes,
        digest: copies.layout().segments_digest(),
    };
    let geometry = SpaceGeometry {
        hash_bytes: 32,
        shards: vec![shard],
    };
    let space = daemon.store.space(key, geometry).unwrap();
    let hashes: Vec<[u8; 32]> = (0..blocks).map(|_| rand::random()).collect();
    let mut writers: Vec<(u32, PageWriter)> = Vec::new();
    for (block, hash) in (0..blocks).zip(&hashes) {
        let Reserved::Page(writer) = daemon.store.reserve(space, 0, hash, None).unwrap() else {
            unreachable!("nobody else saves");
        };
        writers.push((block, writer));
    }
    let pages: Vec<SavePage<'_>> = writers
        .iter_mut()
        .map(|(block, writer)| SavePage::new(*block, writer))
        .collect();
    copies.read(&pages).unwrap();
    drop(pages);
    writers.into_iter().for_each(|(_, writer)| writer.seal());

    memory.poke(&vec![0; bytes.len()]);
    let hits = daemon.store.lookup(space, &hashes.concat()).unwrap();
    assert_eq!(hits.len(), blocks as usize);
    let leases = LeaseTable::with_ttl(Duration::from_secs(600));
    let lease = leases.grant(SessionId(1), hits, 1, Instant::now()).unwrap();
    (bytes, leases.begin_load(lease, 0, 0, blocks, false).unwrap())
}
