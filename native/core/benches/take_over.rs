//! How long a pool takes to be taken over, and what its checksums cost.
//!
//! Prints one JSON line for each result. `--blocks N` changes how many pages there are, `--page-bytes N` how large they are.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark")]

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use pegaflow_core::eviction::PolicyKind;
use pegaflow_core::space::{ShardGeometry, SpaceGeometry, SpaceId, SpaceKey};
use pegaflow_core::store::{Reserved, SCRUB_PERIOD, Store, StoreConfig, Verify};
use rand::RngCore;

const HASH_BYTES: usize = 32;

fn main() {
    let blocks = argument("--blocks", 100_000);
    let page_bytes = argument("--page-bytes", 16 << 10);
    let dir = tempfile::TempDir::new_in("/dev/shm").expect("a directory in /dev/shm");
    let mut hashes = vec![0; blocks as usize * HASH_BYTES];
    rand::rng().fill_bytes(&mut hashes);

    let store = open(dir.path(), blocks, page_bytes);
    while store.pool_snapshot().is_growing {
        thread::sleep(Duration::from_millis(1));
    }
    let space = space(&store, page_bytes);
    let start = Instant::now();
    for hash in hashes.chunks_exact(HASH_BYTES) {
        if let Reserved::Page(writer) = store.reserve(space, 0, hash, None).expect("a reservation") {
            writer.seal();
        }
    }
    let sealed = start.elapsed();
    while store.snapshot().checksums.made < blocks {
        thread::sleep(Duration::from_millis(1));
    }
    let bytes = (blocks * page_bytes) as f64;
    print(
        "seals without copies, beside checksums",
        sealed,
        blocks as f64,
        "pages/s",
    );
    print("checksums", start.elapsed(), bytes / 1e9, "GB/s");
    let start = Instant::now();
    store.close(false).expect("a close");
    print("close that keeps the pool", start.elapsed(), 0.0, "");
    assert!(Arc::into_inner(store).is_some());

    let start = Instant::now();
    let store = open(dir.path(), blocks, page_bytes);
    let opened = start.elapsed();
    let snapshot = store.snapshot();
    let taken = snapshot.taken_over.expect("a pool that is taken over");
    assert_eq!(taken.blocks, blocks);
    print("open that takes the pool over", opened, blocks as f64, "pages/s");
    print(
        "of it, slot table and index",
        taken.duration,
        blocks as f64,
        "pages/s",
    );

    let space = self::space(&store, page_bytes);
    let start = Instant::now();
    let hits = store.lookup(space, &hashes).expect("a lookup");
    assert_eq!(hits.len() as u64, blocks);
    print("first lookup of all", start.elapsed(), blocks as f64, "pages/s");
    let start = Instant::now();
    (0..hits.len()).for_each(|index| hits.verify(index, 0).expect("the bytes that were saved"));
    print("first verification of all", start.elapsed(), bytes / 1e9, "GB/s");
    drop(hits);
    store.close(true).expect("a close");
}

fn argument(name: &str, default: u64) -> u64 {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|argument| argument == name);
    at.and_then(|at| arguments.get(at + 1)?.parse().ok())
        .unwrap_or(default)
}

fn open(dir: &Path, blocks: u64, page_bytes: u64) -> Arc<Store> {
    let config = StoreConfig {
        pool_bytes: blocks * page_bytes * 9 / 8 + (64 << 20),
        pool_dir: Some(dir.to_owned()),
        socket: dir.join("daemon.sock"),
        boot_id: 1,
        policy: PolicyKind::Lru,
        verify: Verify::First,
        scrub_period: SCRUB_PERIOD,
        tier: None,
    };
    Store::open(config).expect("a store")
}

fn space(store: &Store, page_bytes: u64) -> SpaceId {
    let shards = vec![ShardGeometry {
        page_bytes,
        digest: [0; 32],
    }];
    let key = SpaceKey {
        namespace: [1; 32],
        group: 0,
    };
    let hash_bytes = HASH_BYTES as u32;
    store
        .space(key, SpaceGeometry { hash_bytes, shards })
        .expect("a space")
}

/// One line: the time, and how much of `amount` was done in a second.
fn print(name: &str, time: Duration, amount: f64, unit: &str) {
    let ms = time.as_secs_f64() * 1e3;
    println!(r#"{{"name": "{name}", "value": {ms:.1}, "unit": "ms"}}"#);
    if amount > 0.0 {
        let rate = amount / time.as_secs_f64();
        println!(r#"{{"name": "{name}, rate", "value": {rate:.1}, "unit": "{unit}"}}"#);
    }
}
