//! What the store's calls take, alone: a lookup of 1,000 hashes, a save without its copy, metadata for each page.
//!
//! Pages of 4 KiB, so that there are many. Prints one JSON line for each result; `--blocks N` changes how many are cached.
#![expect(clippy::expect_used, clippy::print_stdout, reason = "a benchmark")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use pegaflow_core::eviction::PolicyKind;
use pegaflow_core::space::{ShardGeometry, SpaceGeometry, SpaceId, SpaceKey};
use pegaflow_core::store::{Reserved, SCRUB_PERIOD, Store, StoreConfig, Verify};
use rand::RngCore;
use rand::seq::SliceRandom;

const PAGE_BYTES: u64 = 4096;
const HASH_BYTES: usize = 32;
const PREFIX: usize = 1_000;
const ROUNDS: usize = 200;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let blocks = arguments
        .iter()
        .position(|argument| argument == "--blocks")
        .and_then(|at| arguments.get(at + 1)?.parse().ok())
        .unwrap_or(200_000);
    for policy in PolicyKind::ALL {
        measure(policy, blocks);
    }
}

fn measure(policy: PolicyKind, blocks: usize) {
    let dir = tempfile::TempDir::new_in("/dev/shm").expect("a directory in /dev/shm");
    let config = StoreConfig {
        pool_bytes: blocks as u64 * PAGE_BYTES * 5 / 4,
        pool_dir: Some(dir.path().to_owned()),
        socket: dir.path().join("daemon.sock"),
        boot_id: 1,
        policy,
        verify: Verify::First,
        scrub_period: SCRUB_PERIOD,
        tier: None,
    };
    let store = Store::open(config).expect("a store");
    while store.pool_snapshot().is_growing {
        std::thread::sleep(Duration::from_millis(1));
    }
    let shards = vec![ShardGeometry {
        page_bytes: PAGE_BYTES,
        digest: [0; 32],
    }];
    let key = SpaceKey {
        namespace: [1; 32],
        group: 0,
    };
    let space = store
        .space(
            key,
            SpaceGeometry {
                hash_bytes: HASH_BYTES as u32,
                shards,
            },
        )
        .expect("a space");

    let mut hashes = vec![0; blocks * HASH_BYTES];
    rand::rng().fill_bytes(&mut hashes);
    let start = Instant::now();
    for hash in hashes.chunks_exact(HASH_BYTES) {
        if let Reserved::Page(writer) = store.reserve(space, 0, hash, None).expect("a reservation") {
            writer.seal();
        }
    }
    print(
        policy,
        "save without copy",
        start.elapsed().as_nanos() as f64 / blocks as f64,
        "ns",
        None,
    );

    let mut prefixes: Vec<_> = hashes.chunks_exact(PREFIX * HASH_BYTES).collect();
    prefixes.shuffle(&mut rand::rng());
    let cold = prefixes
        .iter()
        .take(ROUNDS)
        .map(|prefix| lookup(&store, space, prefix))
        .collect();
    print(policy, "lookup of 1000 hashes, cold", median_us(cold), "us", None);
    let warm = prefixes.first().into_iter().cycle().take(ROUNDS);
    let warm = warm.map(|prefix| lookup(&store, space, prefix)).collect();
    print(
        policy,
        "lookup of 1000 hashes, warm",
        median_us(warm),
        "us",
        Some(150.0),
    );

    let bytes = store.snapshot().metadata_bytes as f64 / blocks as f64;
    print(
        policy,
        "index and policy for each page",
        bytes,
        "bytes",
        Some(96.0),
    );
    store.close(true).expect("a close");
}

fn lookup(store: &Arc<Store>, space: SpaceId, hashes: &[u8]) -> Duration {
    let start = Instant::now();
    let hits = store.lookup(space, hashes).expect("a lookup");
    let time = start.elapsed();
    assert_eq!(hits.len(), PREFIX);
    time
}

fn median_us(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times
        .get(times.len() / 2)
        .map_or(0.0, |time| time.as_nanos() as f64 / 1e3)
}

fn print(policy: PolicyKind, name: &str, value: f64, unit: &str, target: Option<f64>) {
    let target = target.map_or(String::new(), |most| {
        format!(r#", "target": {most}, "met": {}"#, value <= most)
    });
    println!(
        r#"{{"name": "{name}, {}", "value": {value:.1}, "unit": "{unit}"{target}}}"#,
        policy.name()
    );
}
