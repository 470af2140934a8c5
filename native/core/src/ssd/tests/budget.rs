//! What the index takes, and that threads sleep while there is nothing to do.

use std::fs::File;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::fixture::{CAPACITY, Fixture, KEY, config, geometry};
use crate::ssd::index::{Entry, Index};
use crate::ssd::path::{Path, Segment};
use crate::ssd::tier::Tier;
use crate::ssd::*;

/// Most bytes for each page on the disk.
const MOST_BYTES: u64 = 64;

/// The most that the index takes for each page, over sizes that include those right after its table grew.
fn worst_bytes(shards: usize) -> u64 {
    let dir = TempDir::new().unwrap();
    let tier = Tier::new(&config(dir.path()), Box::new(IoEngineKind::Psync)).unwrap();
    let path = Path::new(dir.path().to_owned(), CAPACITY, tier);
    let file = Arc::new(File::open("/dev/null").unwrap());
    let mut index = Index::default();
    index
        .spaces
        .get_or_make(KEY, &geometry(&vec![4096; shards]))
        .unwrap();
    let (mut worst, mut pages) = (0, 0);
    for generation in 1..=300 {
        let segment = Segment::new(Arc::clone(&path), Arc::clone(&file), 0, 4 << 20, generation);
        let id = index.segments.add(segment, 0).unwrap();
        for offset in 1..1000 {
            index.insert(
                id,
                Entry {
                    hash: rand::random(),
                    check: 1,
                    offset,
                    space: 0,
                    uses: 0,
                    is_used: false,
                },
            );
            pages += shards as u64;
            if pages > 20_000 && offset % 100 == 0 {
                worst = worst.max(index.memory_bytes().div_ceil(pages));
            }
        }
        index.segments.finish(id);
    }
    worst
}

#[test]
fn a_page_takes_at_most_64_bytes_of_memory() {
    for shards in [1, 2, 8] {
        let bytes = worst_bytes(shards);
        assert!(bytes <= MOST_BYTES, "{shards} shards: {bytes} bytes a page");
    }
}

/// How often the threads of these names went to sleep so far.
fn sleeps() -> Vec<u64> {
    let tasks = std::fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|task| task.unwrap().path());
    let own = std::process::id().to_string();
    let mut sleeps = Vec::new();
    for task in tasks.filter(|task| task.file_name().unwrap().to_str() != Some(&own)) {
        // A thread of another test may end meanwhile.
        let (Ok(name), Ok(status)) = (
            std::fs::read_to_string(task.join("comm")),
            std::fs::read_to_string(task.join("status")),
        ) else {
            continue;
        };
        if name.starts_with("ssd-") {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            sleeps.push(line.unwrap().trim().parse().unwrap());
        }
    }
    sleeps
}

#[test]
fn the_threads_sleep_while_nothing_is_wanted() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    let hash = fixture.write();
    assert!(fixture.has(&hash));
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        let before = sleeps();
        thread::sleep(Duration::from_millis(300));
        if sleeps() == before {
            break;
        }
        assert!(Instant::now() < end, "a thread wakes up for nothing");
    }
    fixture.close();
}
