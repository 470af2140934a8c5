//! What each policy takes for an access to a cache of a million blocks, in time and in memory.
//!
//! Requests of chains that share their beginnings; `--blocks N` changes how many fit. Prints one JSON line for each result.
#![expect(clippy::print_stdout, reason = "a benchmark")]

use std::time::Instant;

use pegaflow_core::eviction::PolicyKind;
use pegaflow_core::simulate::{Requests, SimulatedCache};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const CHAINS: u64 = 60_000;
const CHAIN_BLOCKS: u64 = 40;
const MOST_NS: f64 = 300.0;
const MOST_BYTES: f64 = 48.0;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let blocks = arguments
        .iter()
        .position(|argument| argument == "--blocks")
        .and_then(|at| arguments.get(at + 1)?.parse().ok())
        .unwrap_or(1_000_000);
    let requests = requests(blocks);
    for kind in PolicyKind::ALL {
        let mut cache = SimulatedCache::new(kind, blocks, requests.distinct_blocks());
        let start = Instant::now();
        for request in requests.iter() {
            cache.serve(request);
        }
        let ns = start.elapsed().as_nanos() as f64 / requests.blocks() as f64;
        print(kind, "access", ns, "ns", MOST_NS);
        let bytes = cache.policy_bytes() as f64 / blocks as f64;
        print(kind, "policy for each block", bytes, "bytes", MOST_BYTES);
    }
}

/// So many that the cache is replaced several times: squares of random numbers make some chains popular, and each request adds to its chain.
fn requests(blocks: usize) -> Requests {
    let mut random = SmallRng::seed_from_u64(1);
    let mut requests = Requests::default();
    let mut fresh = CHAINS * CHAIN_BLOCKS;
    let mut time_us = 0;
    while requests.blocks() < blocks * 4 {
        let chain = (random.random::<f64>().powi(2) * CHAINS as f64) as u64;
        let mut names: Vec<_> = (0..CHAIN_BLOCKS)
            .map(|depth| chain * CHAIN_BLOCKS + depth)
            .collect();
        let added = random.random_range(1..CHAIN_BLOCKS);
        names.extend(fresh..fresh + added);
        fresh += added;
        time_us += 1_000;
        requests.push(time_us, &names);
    }
    requests
}

fn print(kind: PolicyKind, name: &str, value: f64, unit: &str, target: f64) {
    println!(
        r#"{{"name": "{name}, {}", "value": {value:.1}, "unit": "{unit}", "target": {target}, "met": {}}}"#,
        kind.name(),
        value <= target
    );
}
