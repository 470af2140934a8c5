//! Segments are used again: within the capacity, not while somebody reads, and without losing what is used.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::fixture::{
    CAPACITY, Fixture, Hash, KEY, PADDED_BYTES, PAGES, config, deadline, geometry, read_extent,
};
use crate::ssd::io::fault::{Disk, Faults};
use crate::ssd::*;

/// Bytes that all files of a path take on the disk.
fn used(dir: &Path) -> u64 {
    let files = fs::read_dir(dir).unwrap();
    files
        .map(|file| file.unwrap().metadata().unwrap().blocks() * 512)
        .sum()
}

#[test]
fn three_times_the_capacity_stays_within_the_capacity() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    let blocks = 3 * CAPACITY / PADDED_BYTES;
    let mut last = Vec::new();
    for _ in 0..blocks / 10 {
        last = fixture.write_many(10);
        let path = fixture.path();
        assert!(path.used <= CAPACITY, "{path:?}");
        assert!(
            used(&fixture.dir) <= path.used,
            "{} on the disk, {} said",
            used(&fixture.dir),
            path.used
        );
    }
    assert!(last.iter().all(|hash| fixture.has(hash)));
    let found = fixture.check_all() as u64;
    assert!(found * PADDED_BYTES > CAPACITY / 2, "{found} blocks");
    assert_eq!(fixture.path().blocks, found);
    assert!(fixture.path().evicted_blocks > 0);
    let files = fs::read_dir(&fixture.dir).unwrap().count();
    for _ in 0..3 {
        fixture.close();
        fixture = fixture.reopen(None);
        assert_eq!(fixture.check_all() as u64, found);
        assert_eq!(fs::read_dir(&fixture.dir).unwrap().count(), files);
    }
    fixture.close();
}

#[test]
fn what_is_read_meanwhile_is_not_overwritten() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    let hash = fixture.write();
    let extent = fixture.ssd.find(fixture.space, &hash).unwrap();
    // More than there is room for: the last of it waits for the reader.
    let mut ends = Vec::new();
    for _ in 0..2 * CAPACITY / PADDED_BYTES {
        match fixture.begin(rand::random()) {
            (Ok(()), ended) => ends.push(ended),
            (Err(refused), _) => {
                assert_eq!(refused, Refused::Busy);
                break;
            }
        }
    }
    let end = Instant::now() + Duration::from_secs(60);
    while fixture.ssd.contains(fixture.space, &hash) {
        assert!(Instant::now() < end, "the segment stays");
        std::thread::sleep(Duration::from_millis(1));
    }
    let read = read_extent(&fixture.ssd, extent, &PAGES).unwrap();
    assert!(read == fixture.saved[&hash], "other bytes than were saved");
    for ended in ends {
        ended.recv_timeout(Duration::from_secs(60)).unwrap().unwrap();
    }
    assert_eq!(fixture.path().corrupt_blocks, 0);
    fixture.close();
}

#[test]
fn a_block_that_is_read_again_and_again_stays() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    let hot: Vec<Hash> = (0..3).map(|_| fixture.write()).collect();
    let cold = fixture.write();
    for _ in 0..3 * CAPACITY / PADDED_BYTES / 20 {
        assert!(hot.iter().all(|hash| fixture.has(hash)), "a hot block is gone");
        fixture.write_many(20);
    }
    assert!(!fixture.has(&cold));
    assert!(fixture.path().kept_blocks >= 6, "{:?}", fixture.path());
    let order = fixture
        .ssd
        .blocks(Some(fixture.space), None, BlockOrder::Frequent);
    let first: Vec<&[u8]> = order.iter().take(3).map(|block| block.hash.as_slice()).collect();
    assert!(hot.iter().all(|hash| first.contains(&hash.as_slice())));
    fixture.close();
    let fixture = fixture.reopen(None);
    assert!(hot.iter().all(|hash| fixture.has(hash)));
    fixture.close();
}

#[test]
fn blocks_are_listed_the_last_first() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    let hashes: Vec<Hash> = (0..60).map(|_| fixture.write()).collect();
    let listed = || {
        let blocks = fixture.ssd.blocks(None, None, BlockOrder::Recent);
        assert!(blocks.iter().all(|block| block.bytes == 80_000));
        blocks
            .into_iter()
            .map(|block| block.hash)
            .rev()
            .collect::<Vec<_>>()
    };
    assert_eq!(listed(), hashes);
    fixture.close();
    let reopened = fixture.reopen(None);
    let blocks = reopened.ssd.blocks(None, None, BlockOrder::Recent);
    assert!(
        blocks
            .iter()
            .map(|block| &block.hash[..])
            .rev()
            .eq(hashes.iter().map(|hash| &hash[..]))
    );
    let spaces = reopened.ssd.spaces();
    assert_eq!(spaces.len(), 1);
    assert_eq!((spaces[0].key, &spaces[0].geometry), (KEY, &geometry(&PAGES)));
    assert_eq!((spaces[0].blocks, spaces[0].bytes), (60, 60 * 80_000));
    reopened.close();
}

#[test]
fn what_was_removed_stays_so() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    let hashes = fixture.write_many(100);
    for hash in &hashes[..10] {
        assert!(fixture.ssd.remove(fixture.space, hash));
        assert!(!fixture.ssd.remove(fixture.space, hash));
    }
    // One comes back in another place.
    fixture.write_as(hashes[3]).unwrap();
    fixture.close();
    let fixture = fixture.reopen(None);
    for (index, hash) in hashes.iter().enumerate() {
        assert_eq!(fixture.has(hash), index >= 10 || index == 3, "block {index}");
    }
    fixture.close();
}

#[test]
fn a_space_that_was_removed_stays_so_and_others_stay() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    let first = fixture.write_many(70);
    let key = SpaceKey { group: 8, ..KEY };
    let other = fixture.ssd.space(key, &geometry(&[4096])).unwrap();
    let (sender, ended) = std::sync::mpsc::channel();
    let write = super::fixture::block_write((other, &KEY), [9; 32], &[vec![5; 4096]], move |result| {
        sender.send(result).unwrap()
    });
    fixture.ssd.write(write).unwrap();
    ended.recv().unwrap().unwrap();
    let evicted = fixture.ssd.remove_space(fixture.space);
    assert_eq!((evicted.blocks, evicted.bytes), (70, 70 * 80_000));
    let second = fixture.write_many(30);
    fixture.write_as(first[0]).unwrap();
    fixture.close();
    let fixture = fixture.reopen(None);
    assert!(!first[1..].iter().any(|hash| fixture.has(hash)));
    assert!(second.iter().chain(&first[..1]).all(|hash| fixture.has(hash)));
    let other = fixture.ssd.space(key, &geometry(&[4096])).unwrap();
    assert!(fixture.ssd.contains(other, &[9; 32]));
    fixture.close();
}

#[test]
fn a_path_can_be_made_smaller_and_larger() {
    let dir = TempDir::new().unwrap();
    let mut config = config(dir.path());
    config.paths[0].capacity = 3 * CAPACITY;
    let mut fixture = Fixture::open_config(config);
    let hashes = fixture.write_many(1000);
    assert!(fixture.path().used > CAPACITY);
    fixture.ssd.resize(dir.path(), CAPACITY, deadline()).unwrap();
    let path = fixture.path();
    assert_eq!(path.capacity, CAPACITY);
    assert!(path.used <= CAPACITY && used(dir.path()) <= CAPACITY, "{path:?}");
    assert!(
        hashes[900..].iter().all(|hash| fixture.has(hash)),
        "the newest stay"
    );
    fixture.ssd.resize(dir.path(), 2 * CAPACITY, deadline()).unwrap();
    fixture.write_many(600);
    let path = fixture.path();
    assert!((CAPACITY..=2 * CAPACITY).contains(&path.used), "{path:?}");
    fixture.close();
    // What a smaller configuration has no room for goes at the open.
    let fixture = fixture.reopen(None);
    let path = fixture.path();
    assert!(path.used <= CAPACITY && used(dir.path()) <= CAPACITY, "{path:?}");
    assert!(fixture.check_all() > 100);
    fixture.close();
}

#[test]
fn evicting_all_ends_also_while_removals_are_to_be_told() {
    let dir = TempDir::new().unwrap();
    let disk = Disk::default();
    let mut fixture = Fixture::open_disk(&dir, &disk);
    for _ in 0..20 {
        let hashes = fixture.write_many(6);
        // The second removal is told while the disk has the record of the first.
        disk.set(Faults {
            delay: Duration::from_millis(5),
            ..Faults::default()
        });
        assert!(
            hashes[..2]
                .iter()
                .all(|hash| fixture.ssd.remove(fixture.space, hash))
        );
        let evicted = fixture.ssd.evict(None, u64::MAX, deadline()).unwrap();
        assert_eq!(evicted.blocks, 4);
        disk.set(Faults::default());
    }
    fixture.close();
}

#[test]
fn the_oldest_are_evicted_on_request() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    let hashes = fixture.write_many(200);
    let evicted = fixture.ssd.evict(None, 40 * 80_000, deadline()).unwrap();
    assert!((40..100).contains(&evicted.blocks), "{evicted:?}");
    assert_eq!(evicted.bytes, evicted.blocks * 80_000);
    for (index, hash) in hashes.iter().enumerate() {
        assert_eq!(fixture.has(hash), index as u64 >= evicted.blocks, "block {index}");
    }
    let evicted = fixture.ssd.evict(Some(dir.path()), u64::MAX, deadline()).unwrap();
    assert!(evicted.blocks > 100);
    assert_eq!(fixture.path().blocks, 0);
    let hash = fixture.write();
    fixture.close();
    let fixture = fixture.reopen(None);
    assert_eq!(fixture.check_all(), 1);
    assert!(fixture.has(&hash));
    fixture.close();
}

#[test]
fn uses_outlive_a_restart_as_far_as_a_block_was_moved_for_them() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    let hot = fixture.write();
    while fixture.path().kept_blocks == 0 {
        assert!(fixture.has(&hot));
        fixture.write_many(20);
    }
    let last = fixture.write();
    assert!(fixture.has(&last));
    let hashes = |fixture: &Fixture| {
        let blocks = fixture.ssd.blocks(None, None, BlockOrder::Frequent);
        blocks.into_iter().map(|block| block.hash).collect::<Vec<_>>()
    };
    assert_eq!(hashes(&fixture)[..2], [hot.to_vec(), last.to_vec()]);
    fixture.close();
    let fixture = fixture.reopen(None);
    let after = hashes(&fixture);
    assert_eq!(after[0], hot);
    let recent = fixture.ssd.blocks(None, None, BlockOrder::Recent);
    let others = recent
        .into_iter()
        .map(|block| block.hash)
        .filter(|hash| *hash != hot);
    assert!(after[1..].iter().cloned().eq(others));
    fixture.close();
}
