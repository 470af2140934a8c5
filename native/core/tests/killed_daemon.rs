//! A daemon killed at any moment: its pool and slot table, read as format.md says, give only bytes that were saved, and the
//! next daemon removes both.
//!
//! This program is both processes, so it has its own `main`.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use libtest_mimic::{Arguments, Trial};
use pegaflow_core::eviction::PolicyKind;
use pegaflow_core::space::{ShardGeometry, SpaceGeometry, SpaceId, SpaceKey};
use pegaflow_core::store::{Reserved, Store, StoreConfig};
use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};

const KILLS: usize = 12;
const POOL_BYTES: u64 = 8 << 20;
/// Page sizes of the spaces, one a shard; the last makes slabs move.
const SPACES: [&[u64]; 3] = [&[16 << 10], &[5_000, 20_000], &[512 << 10]];

fn main() {
    match std::env::args().collect::<Vec<_>>().as_slice() {
        [_, role, dir] if role == "daemon" => save_for_ever(Path::new(dir)),
        _ => {
            let trial = Trial::test("what_a_kill_leaves_is_whole_blocks_with_the_bytes_saved", || {
                (0..KILLS).for_each(|_| what_a_kill_leaves_is_whole_blocks_with_the_bytes_saved());
                Ok(())
            });
            libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit();
        }
    }
}

fn open(dir: &Path) -> std::sync::Arc<Store> {
    let config = StoreConfig {
        pool_bytes: POOL_BYTES,
        pool_dir: Some(dir.to_owned()),
        socket: dir.join("daemon.sock"),
        boot_id: 1,
        policy: PolicyKind::Lru,
    };
    Store::open(config).unwrap()
}

/// The bytes of one shard of a block: its hash makes them.
fn bytes_of(hash: &[u8; 32], shard: usize, len: usize) -> Vec<u8> {
    let mut seed = *hash;
    seed[31] ^= 1 + shard as u8;
    let mut bytes = vec![0; len];
    SmallRng::from_seed(seed).fill_bytes(&mut bytes);
    bytes
}

fn save_for_ever(dir: &Path) {
    let store = open(dir);
    let spaces: Vec<_> = (0_u32..)
        .zip(SPACES)
        .map(|(group, pages)| {
            let shards = pages
                .iter()
                .map(|bytes| ShardGeometry {
                    page_bytes: *bytes,
                    digest: [0; 32],
                })
                .collect();
            let key = SpaceKey {
                namespace: [9; 32],
                group,
            };
            store
                .space(
                    key,
                    SpaceGeometry {
                        hash_bytes: 32,
                        shards,
                    },
                )
                .unwrap()
        })
        .collect();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for saves in 0.. {
                    save_one(&store, &spaces);
                    if saves == 300 {
                        println!("under pressure");
                    }
                }
            });
        }
    });
}

fn save_one(store: &std::sync::Arc<Store>, spaces: &[SpaceId]) {
    let mut random = rand::rng();
    let hash: [u8; 32] = random.random();
    let space = if random.random_ratio(1, 50) {
        2
    } else {
        random.random_range(0..2)
    };
    for (shard, len) in SPACES[space].iter().enumerate() {
        if let Reserved::Page(writer) = store.reserve(spaces[space], shard as u32, &hash).unwrap() {
            let bytes = bytes_of(&hash, shard, *len as usize);
            let page = writer.page();
            assert_eq!(page.len(), bytes.len());
            #[expect(unsafe_code, reason = "filling a page")]
            // SAFETY: the page has this length, and only its writer touches it.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), page.as_ptr(), bytes.len());
            }
            if random.random_ratio(9, 10) {
                writer.seal();
            }
        }
    }
}

fn what_a_kill_leaves_is_whole_blocks_with_the_bytes_saved() {
    let dir = tempfile::TempDir::new_in("/dev/shm").unwrap();
    let program = std::env::current_exe().unwrap();
    let mut daemon = Command::new(program)
        .arg("daemon")
        .arg(dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(daemon.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "under pressure\n");
    thread::sleep(Duration::from_micros(rand::rng().random_range(0..50_000)));
    daemon.kill().unwrap();
    daemon.wait().unwrap();

    let (pool, slots) = (file(dir.path(), ".pool"), file(dir.path(), ".slots"));
    let blocks = whole_blocks(&fs::read(&slots).unwrap());
    assert!(blocks.len() > 50, "only {} whole blocks are left", blocks.len());
    let pages = fs::read(&pool).unwrap();
    for ((space, hash), shards) in &blocks {
        for (shard, page) in shards {
            assert_eq!(page.len as u64, SPACES[*space][*shard]);
            let found = &pages[page.offset..page.offset + page.len];
            assert!(
                found == bytes_of(hash, *shard, page.len),
                "other bytes than were saved"
            );
        }
    }

    drop(open(dir.path()));
    let left = fs::read(&slots)
        .map(|bytes| whole_blocks(&bytes).len())
        .unwrap_or(0);
    assert_eq!(left, 0, "the next daemon starts empty");
}

fn file(dir: &Path, suffix: &str) -> PathBuf {
    let paths = dir.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut found: Vec<_> = paths
        .filter(|path| path.to_str().unwrap().ends_with(suffix))
        .collect();
    assert_eq!(found.len(), 1, "one file ends in {suffix}");
    found.remove(0)
}

struct Page {
    offset: usize,
    len: usize,
}

/// Shards of blocks by space and hash.
type Blocks = BTreeMap<(usize, [u8; 32]), BTreeMap<usize, Page>>;

/// The blocks that a reader of the slot table may take.
fn whole_blocks(table: &[u8]) -> Blocks {
    let u16_at = |at: usize| u16::from_le_bytes(table[at..at + 2].try_into().unwrap()) as usize;
    let u32_at = |at: usize| u32::from_le_bytes(table[at..at + 4].try_into().unwrap()) as usize;
    let u64_at = |at: usize| u64::from_le_bytes(table[at..at + 8].try_into().unwrap()) as usize;
    assert_eq!(&table[..8], b"PEGASLOT");
    let (slab_bytes, spaces_at, records_at, records) = (u64_at(48), u64_at(64), u64_at(72), u64_at(80));
    let mut blocks = Blocks::new();
    for slot in 0..records {
        let at = records_at + slot * 64;
        let state = table[at];
        assert!(state <= 4, "state {state}");
        if state != 2 && state != 3 {
            continue;
        }
        let len = u32_at(at + 8);
        let (slab, index) = (slot / (slab_bytes / 4096), slot % (slab_bytes / 4096));
        let page = Page {
            offset: slab * slab_bytes + index * len.next_multiple_of(4096),
            len,
        };
        let key = (u16_at(at + 12), table[at + 32..at + 64].try_into().unwrap());
        let before = blocks.entry(key).or_default().insert(u16_at(at + 14), page);
        assert!(before.is_none(), "one page of a shard");
    }
    blocks.retain(|(space, _), shards| {
        let entry = spaces_at + space * 64;
        assert_eq!(table[entry], 1, "the space is in the table");
        shards.len() == u32_at(entry + 12)
    });
    blocks
}
