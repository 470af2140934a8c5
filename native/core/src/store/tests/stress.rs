//! Many threads at once.

use std::thread;
use std::time::Instant;

use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::fixture::{Fixture, Hash, MIB, random_bytes, random_hash};
use crate::eviction::PolicyKind;
use crate::lease::{LEASE_TTL, LeaseTable, SessionId};
use crate::space::SpaceId;
use crate::store::{Hits, Reserved};
use crate::sync::Arc;

const THREADS: u64 = 6;
const ROUNDS: usize = 400;
const HASHES: usize = 200;
const SPACES: [&[u64]; 3] = [&[16 << 10], &[8 << 10, 20_000], &[512 << 10]];

struct Cache {
    fixture: Fixture,
    leases: Arc<LeaseTable>,
    spaces: Vec<SpaceId>,
    hashes: Vec<Hash>,
    /// Makes the bytes of this run differ from those of any other.
    seed: u64,
}

impl Cache {
    fn new(policy: PolicyKind) -> Self {
        let fixture = Fixture::with_policy(8 * MIB, policy);
        Self {
            spaces: SPACES.iter().map(|pages| fixture.space(pages)).collect(),
            hashes: (0..HASHES).map(|_| random_hash()).collect(),
            seed: u64::from_le_bytes(random_bytes(8).try_into().unwrap()),
            leases: LeaseTable::new(),
            fixture,
        }
    }

    /// The bytes of one shard of a block, which every thread writes alike.
    fn bytes(&self, space: usize, hash: usize, shard: usize) -> Vec<u8> {
        let key = xxh3_64_with_seed(&self.hashes[hash], self.seed) ^ (space * 8 + shard) as u64;
        let mut bytes = vec![0; SPACES[space][shard] as usize];
        SmallRng::seed_from_u64(key).fill_bytes(&mut bytes);
        bytes
    }

    fn save(&self, space: usize, hash: usize, abandons: bool) {
        for shard in 0..SPACES[space].len() {
            if let Reserved::Page(writer) =
                self.fixture
                    .reserve(self.spaces[space], shard as u32, &self.hashes[hash])
            {
                writer.page().write(&self.bytes(space, hash, shard));
                if !abandons {
                    writer.seal();
                }
            }
        }
    }

    fn lookup(&self, space: usize, first: usize) -> Hits {
        let hashes: Vec<_> = (first..first + 6)
            .map(|hash| self.hashes[hash % HASHES])
            .collect();
        self.fixture.lookup(self.spaces[space], &hashes)
    }

    fn check(&self, space: usize, first: usize, hits: &Hits) {
        for index in 0..hits.len() {
            for shard in 0..SPACES[space].len() {
                let bytes = hits.page(index, shard as u32).unwrap().read();
                assert!(
                    bytes == self.bytes(space, (first + index) % HASHES, shard),
                    "other bytes"
                );
            }
        }
    }

    fn work(&self, owner: SessionId) {
        let mut random = rand::rng();
        for _ in 0..ROUNDS {
            let space = if random.random_ratio(1, 8) {
                2
            } else {
                random.random_range(0..2)
            };
            let first = random.random_range(0..HASHES);
            for hash in first..first + 4 {
                self.save(space, hash % HASHES, random.random_ratio(1, 20));
            }
            let hits = self.lookup(space, first);
            self.check(space, first, &hits);
            if hits.is_empty() || random.random_bool(0.5) {
                continue;
            }
            let count = hits.len() as u32;
            let lease = self.leases.grant(owner, hits, 2, Instant::now()).unwrap();
            if let Ok(pass) = self
                .leases
                .begin_load(lease, random.random_range(0..2), 0, count, false)
            {
                if random.random_bool(0.3) {
                    self.leases.release(owner, lease);
                }
                for index in 0..pass.len() {
                    let bytes = pass.page(index, 0).unwrap().read();
                    assert!(
                        bytes == self.bytes(space, (first + index) % HASHES, 0),
                        "other bytes"
                    );
                }
            }
            if random.random_bool(0.8) {
                self.leases.release(owner, lease);
            }
            if random.random_ratio(1, 50) {
                self.leases.end_owner(owner);
            }
        }
        self.leases.end_owner(owner);
    }
}

fn run(policy: PolicyKind) {
    let cache = Cache::new(policy);
    thread::scope(|scope| {
        for owner in 0..THREADS {
            let cache = &cache;
            scope.spawn(move || cache.work(SessionId(owner)));
        }
    });
    // A block is not evicted while its checksum is made.
    cache.fixture.stop_threads();
    assert_eq!(cache.leases.expire(Instant::now() + LEASE_TTL), 0);
    let later = Instant::now() + crate::store::PARTIAL_BLOCK_TTL;
    cache.fixture.store.drop_stale_partial_blocks(later);
    let snapshot = cache.fixture.snapshot();
    assert_eq!(
        (
            snapshot.pinned_blocks,
            snapshot.in_flight_pages,
            snapshot.partial_blocks
        ),
        (0, 0, 0)
    );
    for space in &snapshot.spaces {
        assert_eq!(space.admissions - space.evictions, space.blocks);
    }
    assert!(
        snapshot.spaces.iter().all(|space| space.evictions > 0),
        "there was no pressure"
    );
    let whole = cache.fixture.space(&[MIB]);
    let slabs: Vec<_> = (0..8)
        .map(|_| cache.fixture.reserve(whole, 0, &random_hash()))
        .collect();
    assert!(
        slabs.iter().all(|reserved| matches!(reserved, Reserved::Page(_))),
        "pages are lost"
    );
}

#[test]
fn threads_get_only_the_bytes_saved_and_leave_nothing_behind_under_lru() {
    run(PolicyKind::Lru);
}

#[test]
fn threads_get_only_the_bytes_saved_and_leave_nothing_behind_under_s3fifo() {
    run(PolicyKind::S3Fifo);
}

#[test]
fn threads_get_only_the_bytes_saved_and_leave_nothing_behind_under_density() {
    run(PolicyKind::Density);
}
