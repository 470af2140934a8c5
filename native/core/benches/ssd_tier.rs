//! How fast the SSD tier writes, reads and recovers.
//!
//! Prints one JSON line for each result. `--dir PATH` says on which disk, `--bytes N` how much is written and read,
//! `--capacity N` how much the tier has room for, which is filled first, `--paths N` in how many paths, `--recover N` how many
//! blocks of 4 KiB a recovery finds (0 for none), `--engine psync` how, if not by io_uring.
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a benchmark"
)]

use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use pegaflow_core::pool::PagePtr;
use pegaflow_core::space::{ShardGeometry, SpaceGeometry, SpaceKey};
use pegaflow_core::ssd::{
    BlockWrite, IoEngineKind, Priority, Refused, Ssd, SsdConfig, SsdPathConfig, SsdSpaceId,
};
use rand::RngCore;
use rand::seq::SliceRandom;

const UNIT: usize = 4096;
/// Pages of the measured blocks.
const PAGES: [usize; 2] = [256 << 10, 1 << 20];
/// Different blocks in memory, which are written under many hashes.
const DIFFERENT_BYTES: usize = 64 << 20;
/// Reads at one time, each into memory of its own.
const READS: usize = 64;
const LIMIT: Duration = Duration::from_secs(600);

type Hash = [u8; 32];

fn main() {
    let dir = PathBuf::from(text("--dir").unwrap_or_else(|| ".".to_owned()));
    let bytes = number("--bytes", 2 << 30);
    let engine = match text("--engine").as_deref() {
        Some("psync") => IoEngineKind::Psync,
        _ => IoEngineKind::Auto,
    };
    for page_bytes in PAGES {
        let dir = tempfile::TempDir::new_in(&dir).expect("a directory on the disk");
        measure(dir.path(), page_bytes, bytes, engine);
    }
    let blocks = number("--recover", 1_000_000);
    if blocks > 0 {
        let dir = tempfile::TempDir::new_in(&dir).expect("a directory on the disk");
        recover(dir.path(), blocks, engine);
    }
}

fn measure(dir: &Path, page_bytes: usize, bytes: u64, engine: IoEngineKind) {
    let name = format!("{} KiB pages", page_bytes >> 10);
    let capacity = number("--capacity", bytes * 2);
    let ssd = open(dir, capacity, engine);
    let space = space(&ssd, page_bytes);
    let count = (bytes / page_bytes as u64) as usize;
    // A path is at its capacity for most of its life: its segments have been filled before.
    write(&ssd, space, page_bytes, (capacity / page_bytes as u64) as usize);
    let (hashes, written) = write(&ssd, space, page_bytes, count);
    print(&format!("ssd write, {name}"), rate(bytes, written), "GB/s");

    let mut hashes = hashes;
    hashes.shuffle(&mut rand::rng());
    let read = read(&ssd, space, page_bytes, &hashes);
    print(&format!("ssd read, {name}"), rate(bytes, read), "GB/s");
    let paths = ssd.snapshot().paths;
    let read_blocks: u64 = paths.iter().map(|path| path.read_blocks).sum();
    let corrupt_blocks: u64 = paths.iter().map(|path| path.corrupt_blocks).sum();
    assert_eq!((read_blocks, corrupt_blocks), (count as u64, 0));
    let verify_time: Duration = paths.iter().map(|path| path.verify_time).sum();
    let share = 100.0 * verify_time.as_secs_f64() / read.as_secs_f64();
    print(&format!("ssd read, {name}, checksums of one core"), share, "%");
    print(
        &format!("ssd checksums, {name}"),
        rate(bytes, verify_time),
        "GB/s",
    );
    ssd.close(Instant::now() + LIMIT).expect("a close");
}

fn recover(dir: &Path, blocks: u64, engine: IoEngineKind) {
    let capacity = blocks * UNIT as u64 * 5 / 4 + (64 << 20);
    let ssd = open(dir, capacity, engine);
    let space = space(&ssd, UNIT);
    let (_, written) = write(&ssd, space, UNIT, blocks as usize);
    let per_second = blocks as f64 / written.as_secs_f64();
    print("ssd write, 4 KiB pages", per_second.round(), "blocks/s");
    let bytes = ssd.snapshot().metadata_bytes;
    print("ssd memory a page", bytes as f64 / blocks as f64, "bytes");
    ssd.close(Instant::now() + LIMIT).expect("a close");
    drop(ssd);
    let start = Instant::now();
    let ssd = open(dir, capacity, engine);
    let opened = start.elapsed();
    assert_eq!(ssd.snapshot().blocks, blocks);
    print(
        &format!("ssd recovery, {blocks} pages"),
        opened.as_secs_f64(),
        "s",
    );
    ssd.close(Instant::now() + LIMIT).expect("a close");
}

/// Writes blocks of fresh hashes and makes them safe; how long that took.
fn write(ssd: &Ssd, space: SsdSpaceId, page_bytes: usize, count: usize) -> (Vec<Hash>, Duration) {
    let different = (DIFFERENT_BYTES / page_bytes).min(count);
    let memory = Memory::random(different * page_bytes);
    let blocks: Vec<(Hash, PagePtr)> = (0..count)
        .map(|index| {
            let mut hash = [0; 32];
            rand::rng().fill_bytes(&mut hash);
            (hash, memory.page(index % different, page_bytes))
        })
        .collect();
    // In production they are there before a block is offered.
    let checksums = blocks.iter().map(|(hash, page)| {
        let pages = std::slice::from_ref(page);
        ssd.checksums(space, hash, pages).expect("checksums")
    });
    let checksums: Vec<Vec<u128>> = checksums.collect();
    let (sender, ended) = mpsc::channel();
    let start = Instant::now();
    for ((hash, page), checksums) in blocks.iter().zip(checksums) {
        loop {
            let sender = sender.clone();
            let write = BlockWrite {
                space,
                hash: hash.to_vec(),
                pages: vec![*page],
                checksums: checksums.clone(),
                keep: Box::new(()),
                done: Box::new(move |result| sender.send(result).expect("a listener")),
            };
            match ssd.write(write) {
                Ok(()) => break,
                Err(Refused::Busy) => assert!(ssd.wait_for_room(Instant::now() + LIMIT), "no room"),
                Err(other) => panic!("refused: {other:?}"),
            }
        }
    }
    drop(sender);
    ssd.flush(Instant::now() + LIMIT).expect("a flush");
    let time = start.elapsed();
    assert_eq!(ended.iter().filter(Result::is_ok).count(), count);
    (blocks.into_iter().map(|(hash, _)| hash).collect(), time)
}

/// Reads all blocks, some at one time; how long that took.
fn read(ssd: &Ssd, space: SsdSpaceId, page_bytes: usize, hashes: &[Hash]) -> Duration {
    let memory = Memory::random(READS * page_bytes);
    let (sender, ended) = mpsc::channel();
    let start = Instant::now();
    let mut free: Vec<usize> = (0..READS).collect();
    for hash in hashes {
        let place = free.pop().unwrap_or_else(|| ended.recv().expect("an end"));
        let extent = ssd.find(space, hash).expect("a block");
        let sender = sender.clone();
        let done = Box::new(move |result: pegaflow_core::error::Result<_>| {
            result.expect("the bytes that were saved");
            sender.send(place).expect("a listener");
        });
        let pages = vec![memory.page(place, page_bytes)];
        ssd.read(extent, pages, Priority::Load, done).detach();
    }
    drop(sender);
    ended.iter().count();
    start.elapsed()
}

fn open(dir: &Path, capacity: u64, engine: IoEngineKind) -> Arc<Ssd> {
    let paths = number("--paths", 1);
    let path = |path| SsdPathConfig {
        dir: dir.join(format!("path-{path}")),
        capacity: capacity / paths,
    };
    let config = SsdConfig {
        paths: (0..paths).map(path).collect(),
        engine,
        write_budget: None,
    };
    Ssd::open(config).expect("a tier")
}

fn space(ssd: &Ssd, page_bytes: usize) -> SsdSpaceId {
    let key = SpaceKey {
        namespace: [1; 32],
        group: 0,
    };
    let shard = ShardGeometry {
        page_bytes: page_bytes as u64,
        digest: [0; 32],
    };
    let geometry = SpaceGeometry {
        hash_bytes: 32,
        shards: vec![shard],
    };
    ssd.space(key, &geometry).expect("a space")
}

/// Memory that begins where pages do.
struct Memory {
    _bytes: Vec<u8>,
    start: NonNull<u8>,
}

impl Memory {
    fn random(len: usize) -> Self {
        let mut bytes = vec![0; len + UNIT];
        rand::rng().fill_bytes(&mut bytes);
        let start = bytes.as_mut_ptr();
        let start = NonNull::new(start.wrapping_add(start.align_offset(UNIT))).expect("an address");
        Self { _bytes: bytes, start }
    }

    fn page(&self, index: usize, len: usize) -> PagePtr {
        let start = self.start.as_ptr().wrapping_add(index * len);
        PagePtr::new(NonNull::new(start).expect("an address"), len)
    }
}

fn rate(bytes: u64, time: Duration) -> f64 {
    bytes as f64 / time.as_secs_f64() / 1e9
}

fn text(name: &str) -> Option<String> {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|argument| argument == name)?;
    arguments.get(at + 1).cloned()
}

fn number(name: &str, default: u64) -> u64 {
    text(name).map_or(default, |text| text.parse().expect("a number"))
}

fn print(name: &str, value: f64, unit: &str) {
    println!(r#"{{"name": "{name}", "value": {value:.3}, "unit": "{unit}"}}"#);
}
