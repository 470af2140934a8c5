//! A daemon killed at any moment, again and again, with its blocks on real files: the next one has every block that was said to be
//! safe, serves nothing wrong, and the files do not grow.
//!
//! This program is both processes, so it has its own `main`. `PEGAFLOW_KILLS` says how many kills there are.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test"
)]

mod killed;

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Trial};
use pegaflow_core::pool::PagePtr;
use pegaflow_core::space::{ShardGeometry, SpaceGeometry, SpaceKey};
use pegaflow_core::ssd::{
    BlockOrder, BlockWrite, IoEngineKind, Priority, Refused, Ssd, SsdConfig, SsdPathConfig, SsdSpaceId,
};
use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};
use tempfile::TempDir;

use killed::{Daemon, Hash, LIMIT, digits_of, hash_of, say};

/// Kills in a row that one path lives through, unless the environment says otherwise.
const KILLS: usize = 20;
/// The pages of a block.
const PAGES: [usize; 2] = [5_000, 12_000];
/// A path whose segments are used again all the time, and one that has room for all.
const SMALL: u64 = 32 << 20;
const LARGE: u64 = 4 << 30;

fn main() {
    match std::env::args().collect::<Vec<_>>().as_slice() {
        [_, role, dir, capacity] if role == "daemon" => {
            write_for_ever(Path::new(dir), capacity.parse().unwrap());
        }
        _ => {
            let trials = [
                ("what_was_safe_is_found_after_kills", LARGE),
                (
                    "nothing_wrong_is_served_after_kills_while_segments_are_used_again",
                    SMALL,
                ),
            ];
            let trials = trials.map(|(name, capacity)| {
                Trial::test(name, move || {
                    survive_kills(capacity);
                    Ok(())
                })
            });
            libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
        }
    }
}

fn survive_kills(capacity: u64) {
    let kills = std::env::var("PEGAFLOW_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let dir = TempDir::new().unwrap();
    let (mut begun, mut safe) = (HashSet::new(), HashSet::new());
    for kill in 0..kills {
        let mut daemon = Daemon::start(dir.path(), capacity);
        // Every fourth dies while it opens the path, or soon after; the others once they write.
        if kill % 4 != 3 {
            daemon.wait_for(100, "begin");
        }
        thread::sleep(Duration::from_micros(rand::rng().random_range(0..100_000)));
        let mut heard = daemon.kill();
        begun.extend(heard.take("begin", hash_of));
        safe.extend(heard.take("safe", hash_of));

        let (ssd, space) = open(dir.path(), capacity);
        let found = served(&ssd, space, &begun);
        if capacity == LARGE {
            let lost = safe.difference(&found).count();
            assert_eq!(lost, 0, "blocks are lost after kill {kill}, of {}", safe.len());
        }
        let snapshot = ssd.snapshot();
        assert_eq!(snapshot.paths[0].recovery.bad_segments, 0);
        assert_eq!(snapshot.blocks as usize, found.len());
        ssd.close(Instant::now() + LIMIT).unwrap();
        let files = fs::read_dir(dir.path()).unwrap();
        let used: u64 = files
            .map(|file| file.unwrap().metadata().unwrap().blocks() * 512)
            .sum();
        assert!(used <= capacity, "{used} bytes after kill {kill}");
    }
    assert!(!safe.is_empty(), "no block was ever safe");
}

/// Which of these blocks are found; the bytes of each are what was saved for its hash.
fn served(ssd: &Ssd, space: SsdSpaceId, begun: &HashSet<Hash>) -> HashSet<Hash> {
    let mut found = HashSet::new();
    let mut pages = Pages::new();
    for block in ssd.blocks(Some(space), None, BlockOrder::Recent) {
        let hash = Hash::try_from(block.hash).unwrap();
        assert!(begun.contains(&hash), "a block that nobody wrote");
        let extent = ssd.find(space, &hash).unwrap();
        let (sender, read) = mpsc::channel();
        let done = Box::new(move |result| sender.send(result).unwrap());
        ssd.read(extent, pages.pages(), Priority::Load, done).detach();
        // What is found has its bytes: a killed process loses no write that has ended.
        read.recv().unwrap().unwrap();
        assert!(pages.bytes() == bytes_of(&hash), "other bytes than were saved");
        found.insert(hash);
    }
    found
}

fn open(dir: &Path, capacity: u64) -> (Arc<Ssd>, SsdSpaceId) {
    let config = SsdConfig {
        paths: vec![SsdPathConfig {
            dir: dir.to_owned(),
            capacity,
        }],
        engine: IoEngineKind::Auto,
        write_budget: None,
    };
    let ssd = Ssd::open(config).unwrap();
    let key = SpaceKey {
        namespace: [9; 32],
        group: 0,
    };
    let shards = PAGES.map(|len| ShardGeometry {
        page_bytes: len as u64,
        digest: [0; 32],
    });
    let geometry = SpaceGeometry {
        hash_bytes: 32,
        shards: shards.to_vec(),
    };
    let space = ssd.space(key, &geometry).unwrap();
    (ssd, space)
}

/// The bytes of a block: its hash makes them.
fn bytes_of(hash: &Hash) -> Vec<Vec<u8>> {
    let mut random = SmallRng::from_seed(*hash);
    let page = |len| {
        let mut bytes = vec![0; len];
        random.fill_bytes(&mut bytes);
        bytes
    };
    PAGES.map(page).to_vec()
}

/// Memory for one block, which begins where pages do.
struct Pages(Vec<Unit>);

#[derive(Clone)]
#[repr(align(4096))]
struct Unit([u8; 4096]);

impl Pages {
    fn new() -> Self {
        let units = PAGES.iter().map(|len| len.div_ceil(4096)).sum();
        Self(vec![Unit([0; 4096]); units])
    }

    fn of(bytes: &[Vec<u8>]) -> Self {
        let mut pages = Self::new();
        let units = bytes.iter().flat_map(|page| page.chunks(4096));
        for (unit, bytes) in pages.0.iter_mut().zip(units) {
            unit.0[..bytes.len()].copy_from_slice(bytes);
        }
        pages
    }

    fn pages(&mut self) -> Vec<PagePtr> {
        let mut unit = 0;
        let page = |len: usize| {
            let start = NonNull::from(&mut self.0[unit]).cast();
            unit += len.div_ceil(4096);
            PagePtr::new(start, len)
        };
        PAGES.map(page).to_vec()
    }

    fn bytes(&self) -> Vec<Vec<u8>> {
        let mut units = self.0.iter();
        let mut page = |len: usize| {
            let bytes = units.by_ref().take(len.div_ceil(4096));
            bytes.flat_map(|unit| unit.0).take(len).collect()
        };
        PAGES.map(&mut page).to_vec()
    }
}

/// The daemon: writes until it is killed, and says after each flush what is safe.
fn write_for_ever(dir: &Path, capacity: u64) {
    let (ssd, space) = open(dir, capacity);
    loop {
        let count = rand::rng().random_range(1..40);
        let hashes: Vec<Hash> = (0..count).map(|_| rand::random()).collect();
        let (sender, ended) = mpsc::channel();
        for hash in &hashes {
            say("begin", &digits_of(hash));
            let done = sender.clone();
            let mut pages = Pages::of(&bytes_of(hash));
            let places = pages.pages();
            let write = BlockWrite {
                space,
                hash: hash.to_vec(),
                checksums: ssd.checksums(space, hash, &places).unwrap(),
                pages: places,
                keep: Box::new(pages),
                done: Box::new(move |result| done.send(result).unwrap()),
            };
            match ssd.write(write) {
                Ok(()) => {}
                Err(Refused::Busy) => assert!(ssd.wait_for_room(Instant::now() + LIMIT)),
                Err(other) => panic!("{other:?}"),
            }
        }
        drop(sender);
        ended.iter().for_each(|result| result.unwrap());
        if rand::random_bool(0.5) {
            ssd.flush(Instant::now() + LIMIT).unwrap();
            for hash in hashes.iter().filter(|hash| ssd.contains(space, *hash)) {
                say("safe", &digits_of(hash));
            }
        }
    }
}
