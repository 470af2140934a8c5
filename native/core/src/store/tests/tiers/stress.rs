//! Many threads that save, look up and give up at random.

use std::thread;

use rand::{Rng, RngCore, SeedableRng, rngs::SmallRng};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::*;
use crate::store::Reserved;

const THREADS: usize = 4;
const ROUNDS: usize = 150;
const HASHES: usize = 400;
const PAGES: [u64; 2] = [16 << 10, 20_000];

/// The bytes of one shard of a block, which every thread writes alike.
fn bytes(hash: &Hash, seed: u64, shard: usize) -> Vec<u8> {
    let mut bytes = vec![0; PAGES[shard] as usize];
    SmallRng::seed_from_u64(xxh3_64_with_seed(hash, seed) ^ shard as u64).fill_bytes(&mut bytes);
    bytes
}

#[test]
fn threads_get_only_the_bytes_saved_and_leave_nothing_behind() {
    let tiers = Tiers::with(4 * MIB, |config| config.fetch_bytes = MIB);
    let space = tiers.space(key(), &PAGES);
    let all: Vec<Hash> = (0..HASHES)
        .map(|_| super::super::fixture::random_hash())
        .collect();
    let seed = rand::rng().next_u64();
    let work = || {
        let mut random = rand::rng();
        for _ in 0..ROUNDS {
            let first = random.random_range(0..HASHES - 8);
            let wanted = &all[first..first + 8];
            let hits = match tiers.begin(space, wanted, None) {
                Found::Ready(hits) => hits,
                Found::Pending(_) if random.random_bool(0.3) => continue,
                Found::Pending(pending) if random.random_bool(0.3) => pending.finish(),
                Found::Pending(pending) => wait(pending),
            };
            for (index, hash) in wanted.iter().enumerate().take(hits.hits.len()) {
                for shard in 0..PAGES.len() {
                    let page = hits.hits.page(index, shard as u32).unwrap();
                    assert!(page.read() == bytes(hash, seed, shard), "other bytes");
                }
            }
            for hash in &wanted[hits.hits.len()..] {
                for shard in 0..PAGES.len() {
                    if let Reserved::Page(writer) = tiers.fixture.reserve(space, shard as u32, hash) {
                        writer.page().write(&bytes(hash, seed, shard));
                        if random.random_ratio(19, 20) {
                            writer.seal();
                        }
                    }
                }
            }
        }
    };
    thread::scope(|scope| (0..THREADS).for_each(|_| drop(scope.spawn(work))));
    tiers.flush();
    tiers.check_idle();
    let fetches = tiers.fetches();
    assert!(fetches.blocks > 0, "{fetches:?}");
    assert_eq!((fetches.corrupt, fetches.failed), (0, 0));
}
