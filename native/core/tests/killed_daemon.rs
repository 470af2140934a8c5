//! A daemon killed at any moment, again and again: the next one takes its pool over, serves only what was saved, has all that
//! has its checksum, and in the end nothing is left behind.
//!
//! This program is both processes, so it has its own `main`.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod killed;

use std::collections::{HashSet, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use pegaflow_core::eviction::PolicyKind;
use pegaflow_core::space::{ShardGeometry, SpaceGeometry, SpaceId, SpaceKey};
use pegaflow_core::store::{PageWriter, Reserved, SCRUB_PERIOD, Store, StoreConfig, Verify};
use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};
use tempfile::TempDir;

use killed::{Daemon, Hash, digits_of, hash_of, say};

/// Kills in a row that one pool lives through.
const KILLS: usize = 20;
/// Page sizes of the spaces, one a shard; the last makes slabs move.
const SPACES: [&[u64]; 3] = [&[16 << 10], &[5_000, 20_000], &[512 << 10]];
/// A pool from which blocks are evicted all the time, and one that has room for all.
const SMALL_POOL: u64 = 16 << 20;
const LARGE_POOL: u64 = 256 << 20;
/// Blocks that the large pool gets before the kill.
const BLOCKS: usize = 500;
/// Pages that may wait for their checksums: a small part of what the small pool holds, so most of it outlives a kill
/// however slow the machine is.
const MOST_PENDING: u64 = 50;

fn main() {
    match std::env::args().collect::<Vec<_>>().as_slice() {
        [_, role, dir, pool_bytes] if role == "daemon" => {
            save_for_ever(Path::new(dir), pool_bytes.parse().unwrap());
        }
        _ => {
            let trials = vec![
                Trial::test(
                    "what_is_served_after_kills_under_pressure_is_what_was_saved",
                    || {
                        what_is_served_after_kills_under_pressure_is_what_was_saved();
                        Ok(())
                    },
                ),
                Trial::test("what_has_its_checksum_is_hit_after_a_kill", || {
                    what_has_its_checksum_is_hit_after_a_kill();
                    Ok(())
                }),
            ];
            libtest_mimic::run(&Arguments::from_args(), trials).exit();
        }
    }
}

fn what_is_served_after_kills_under_pressure_is_what_was_saved() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let mut begun = HashSet::new();
    for kill in 0..KILLS {
        let mut daemon = Daemon::start(dir.path(), SMALL_POOL);
        // Every fourth dies while it opens the pool, or soon after; the others once blocks are evicted.
        if kill % 4 != 3 {
            daemon.wait_for(600, "saved");
        }
        thread::sleep(Duration::from_micros(rand::rng().random_range(0..50_000)));
        begun.extend(daemon.kill().take("begin", block_of));

        let store = open(dir.path(), SMALL_POOL);
        let hits = served(&store, begun.iter());
        assert!(hits > 0, "no block is left after kill {kill}");
        close(store, false);
        assert_eq!(
            dir.path().read_dir().unwrap().count(),
            2,
            "one pool, one slot table"
        );
    }
    close(open(dir.path(), SMALL_POOL), true);
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}

fn what_has_its_checksum_is_hit_after_a_kill() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let mut daemon = Daemon::start(dir.path(), LARGE_POOL);
    daemon.wait_for(BLOCKS, "checked");
    let checked = daemon.kill().take("checked", block_of);

    let store = open(dir.path(), LARGE_POOL);
    assert_eq!(served(&store, checked.iter()), checked.len());
    let snapshot = store.snapshot();
    assert_eq!(snapshot.taken_over.unwrap().bad_records, 0);
    assert_eq!(
        snapshot.spaces.iter().map(|space| space.evictions).sum::<u64>(),
        0
    );
    close(store, true);
}

/// A block, by its space and hash.
type Block = (usize, Hash);

/// How many of these blocks are hits; the bytes of each are what was saved for its hash.
fn served<'a>(store: &Arc<Store>, blocks: impl Iterator<Item = &'a Block>) -> usize {
    let spaces = spaces(store);
    let mut found = 0;
    for (space, hash) in blocks {
        let hits = store.lookup(spaces[*space], hash).unwrap();
        if hits.is_empty() {
            continue;
        }
        found += 1;
        for (shard, len) in SPACES[*space].iter().enumerate() {
            hits.verify(0, shard as u32).unwrap();
            let page = hits.page(0, shard as u32).unwrap();
            assert_eq!(page.len() as u64, *len);
            #[expect(unsafe_code, reason = "reading a page")]
            // SAFETY: the page has this length, and the hits pin it.
            let bytes = unsafe { std::slice::from_raw_parts(page.as_ptr(), page.len()) };
            assert!(
                bytes == bytes_of(hash, shard, page.len()),
                "other bytes than were saved"
            );
        }
    }
    found
}

fn open(dir: &Path, pool_bytes: u64) -> Arc<Store> {
    let config = StoreConfig {
        pool_bytes,
        pool_dir: Some(dir.to_owned()),
        socket: dir.join("daemon.sock"),
        boot_id: 1,
        policy: PolicyKind::Lru,
        verify: Verify::First,
        scrub_period: SCRUB_PERIOD,
        tier: None,
    };
    Store::open(config).unwrap()
}

/// Closes the last reference to a store: its pool can be taken over when this returns.
fn close(store: Arc<Store>, purge: bool) {
    let kept = store.close(purge).unwrap();
    assert_eq!(kept == 0, purge);
    Arc::into_inner(store).unwrap();
}

fn spaces(store: &Store) -> Vec<SpaceId> {
    let space = |(group, pages): (u32, &[u64])| {
        let shards = pages.iter().map(|bytes| ShardGeometry {
            page_bytes: *bytes,
            digest: [0; 32],
        });
        let key = SpaceKey {
            namespace: [9; 32],
            group,
        };
        let geometry = SpaceGeometry {
            hash_bytes: 32,
            shards: shards.collect(),
        };
        store.space(key, geometry).unwrap()
    };
    (0..).zip(SPACES).map(space).collect()
}

/// The bytes of one shard of a block: its hash makes them.
fn bytes_of(hash: &Hash, shard: usize, len: usize) -> Vec<u8> {
    let mut seed = *hash;
    seed[31] ^= 1 + shard as u8;
    let mut bytes = vec![0; len];
    SmallRng::from_seed(seed).fill_bytes(&mut bytes);
    bytes
}

fn block_of(words: &str) -> Option<Block> {
    let (space, digits) = words.split_once(' ')?;
    Some((space.parse().ok()?, hash_of(digits)?))
}

/// The daemon: saves until it is killed, as fast as pages get their checksums.
fn save_for_ever(dir: &Path, pool_bytes: u64) {
    let store = open(dir, pool_bytes);
    let spaces = spaces(&store);
    let sealed = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    save_one(&store, &spaces, &sealed);
                    while store.snapshot().checksums.pending_pages > MOST_PENDING {
                        thread::sleep(Duration::from_millis(1));
                    }
                }
            });
        }
    });
}

/// The pages sealed so far, and with how many of them each block was whole that has not got its checksums yet.
///
/// Pages get their checksums in the order in which they were sealed.
#[derive(Default)]
struct Sealed {
    pages: u64,
    unchecked: VecDeque<(u64, String)>,
}

impl Sealed {
    /// Seals the last page of a block.
    fn seal(&mut self, writer: PageWriter, block: String, pages: usize) {
        writer.seal();
        self.pages += pages as u64;
        self.unchecked.push_back((self.pages, block));
    }

    /// The next block whose pages have their checksums, when so many were made.
    fn next_checked(&mut self, made: u64) -> Option<String> {
        let (pages, _) = self.unchecked.front()?;
        let is_checked = *pages <= made;
        is_checked
            .then(|| self.unchecked.pop_front())?
            .map(|(_, block)| block)
    }
}

fn save_one(store: &Arc<Store>, spaces: &[SpaceId], sealed: &Mutex<Sealed>) {
    let mut random = rand::rng();
    let hash: Hash = random.random();
    let space = if random.random_ratio(1, 50) {
        2
    } else {
        random.random_range(0..2)
    };
    let block = format!("{space} {}", digits_of(&hash));
    say("begin", &block);
    let shards = SPACES[space].len();
    for (shard, len) in SPACES[space].iter().enumerate() {
        let Reserved::Page(writer) = store.reserve(spaces[space], shard as u32, &hash, None).unwrap() else {
            return;
        };
        let bytes = bytes_of(&hash, shard, *len as usize);
        let page = writer.page();
        assert_eq!(page.len(), bytes.len());
        #[expect(unsafe_code, reason = "filling a page")]
        // SAFETY: the page has this length, and only its writer touches it.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), page.as_ptr(), bytes.len());
        }
        if random.random_ratio(1, 10) {
            return;
        }
        if shard + 1 < shards {
            writer.seal();
        } else {
            sealed.lock().unwrap().seal(writer, block.clone(), shards);
        }
    }
    say("saved", &block);
    let mut sealed = sealed.lock().unwrap();
    let made = store.snapshot().checksums.made;
    while let Some(block) = sealed.next_checked(made) {
        say("checked", &block);
    }
}
