//! Capacities that change, from and to those that ask for segments of another size.

use tempfile::TempDir;

use super::fixture::{CAPACITY, Fixture, config, deadline, geometry};
use crate::ssd::io::fault::{Disk, Faults};
use crate::ssd::*;

const MIB: u64 = 1 << 20;
/// With segments of 16 MiB.
const LARGE: u64 = 1 << 30;
/// Larger than a segment of the smallest capacity.
const LARGE_BLOCK: u64 = 6 * MIB;

fn open(dir: &TempDir, disk: &Disk, capacity: u64) -> Fixture {
    let mut config = config(dir.path());
    config.paths[0].capacity = capacity;
    Fixture::open_with(config, Box::new(disk.clone())).unwrap()
}

/// Has the fixture write blocks of one page of so many bytes.
fn use_blocks_of(fixture: &mut Fixture, bytes: u64) {
    fixture.key.group = bytes as u32;
    fixture.space = fixture.ssd.space(fixture.key, &geometry(&[bytes])).unwrap();
    fixture.pages = vec![bytes];
    fixture.saved.clear();
}

#[test]
fn a_path_that_is_made_smaller_than_its_segments_takes_blocks_before_and_after_it_is_made_larger() {
    for is_closed_between in [false, true] {
        let (dir, disk) = (TempDir::new().unwrap(), Disk::default());
        let mut fixture = open(&dir, &disk, LARGE);
        use_blocks_of(&mut fixture, LARGE_BLOCK);
        fixture.write_many(6);
        for (capacity, bytes) in [
            (CAPACITY, MIB),
            (LARGE, LARGE_BLOCK),
            (2 * CAPACITY, MIB),
            (LARGE / 2, LARGE_BLOCK),
        ] {
            if is_closed_between {
                fixture.close();
                drop(fixture);
                fixture = open(&dir, &disk, capacity);
            } else {
                fixture.ssd.resize(dir.path(), capacity, deadline()).unwrap();
            }
            use_blocks_of(&mut fixture, bytes);
            // More than a path of the smallest capacity has room for.
            fixture.write_many((CAPACITY * 5 / 4 / bytes) as usize);
            let path = fixture.path();
            assert_eq!(path.state, PathState::Online);
            assert!(path.used <= capacity, "{path:?}");
            assert!(path.blocks > 2, "{path:?}");
        }
        fixture.close();
    }
}

#[test]
fn a_path_that_is_full_of_small_segments_takes_large_blocks_once_it_was_made_larger() {
    let (dir, disk) = (TempDir::new().unwrap(), Disk::default());
    let mut fixture = open(&dir, &disk, CAPACITY);
    fixture.write_many(500);
    let capacity = LARGE / 2;
    fixture.ssd.resize(dir.path(), capacity, deadline()).unwrap();
    use_blocks_of(&mut fixture, LARGE_BLOCK);
    let evicted = fixture.path().evicted_blocks;
    let hashes = fixture.write_many(12);
    let path = fixture.path();
    assert!(hashes.iter().all(|hash| fixture.has(hash)), "{path:?}");
    assert!(path.used <= capacity, "{path:?}");
    assert_eq!(path.evicted_blocks, evicted, "there is room for all");
    fixture.close();
}

#[test]
fn the_reason_of_a_full_file_system_goes_with_a_capacity_that_is_there() {
    let (dir, disk) = (TempDir::new().unwrap(), Disk::default());
    let mut fixture = open(&dir, &disk, 4 * CAPACITY);
    fixture.write_many(500);
    disk.set(Faults {
        allocations: Some(libc::ENOSPC),
        ..Faults::default()
    });
    fixture.write_many(700);
    assert_eq!(fixture.path().state.name(), "degraded");
    let used = fixture.path().used;
    fixture.ssd.resize(dir.path(), used, deadline()).unwrap();
    assert_eq!(
        fixture.path().state,
        PathState::Online,
        "all of its capacity is there"
    );
    fixture.ssd.resize(dir.path(), 4 * CAPACITY, deadline()).unwrap();
    fixture.write_many(200);
    assert_eq!(fixture.path().state.name(), "degraded");
    disk.set(Faults::default());
    fixture.ssd.resize(dir.path(), 2 * CAPACITY, deadline()).unwrap();
    assert_eq!(fixture.path().state, PathState::Online);
    fixture.write_many(50);
    fixture.close();
}

#[test]
fn blocks_in_use_that_are_larger_than_the_segments_hold_nothing_up() {
    let (dir, disk) = (TempDir::new().unwrap(), Disk::default());
    let mut fixture = open(&dir, &disk, LARGE);
    // As much of a segment as is kept, and more than the next ones have room for.
    use_blocks_of(&mut fixture, 4 * MIB);
    let hashes = fixture.write_many(4);
    fixture.ssd.resize(dir.path(), 2 * CAPACITY, deadline()).unwrap();
    assert!(hashes.iter().all(|hash| fixture.has(hash)));
    use_blocks_of(&mut fixture, MIB);
    let hashes = fixture.write_many((5 * CAPACITY / MIB) as usize);
    assert!(fixture.has(&hashes[hashes.len() - 1]));
    assert_eq!(fixture.path().blocks, fixture.check_all() as u64);
    fixture.close();
}

const DENIALS: [i32; 3] = [libc::EACCES, libc::EPERM, libc::EROFS];

fn denied(errno: i32) -> Faults {
    Faults {
        deletions: Some(errno),
        ..Faults::default()
    }
}

#[track_caller]
fn check_denied(fixture: &Fixture) {
    let state = fixture.path().state;
    assert_eq!(state.name(), "degraded", "{state:?}");
    assert!(
        state.reason().unwrap().contains("files cannot be deleted"),
        "{state:?}"
    );
}

#[test]
fn a_path_whose_files_cannot_be_deleted_keeps_them_and_says_so_until_they_can() {
    for errno in DENIALS {
        let (dir, disk) = (TempDir::new().unwrap(), Disk::default());
        let mut fixture = open(&dir, &disk, 2 * CAPACITY);
        fixture.write_many(700);
        disk.set(denied(errno));
        let error = fixture.ssd.resize(dir.path(), CAPACITY, deadline()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Permission);
        assert!(error.message().contains("segment-"), "{error}");
        let blocks = fixture.path().blocks;
        assert!(blocks > 600, "{blocks} blocks");
        for _ in 0..10 {
            fixture.write_many(60);
            check_denied(&fixture);
        }
        assert_eq!(fixture.path().blocks, fixture.check_all() as u64);
        fixture.close();

        let mut fixture = fixture.reopen(Some(Box::new(disk.clone())));
        fixture.write_many(60);
        check_denied(&fixture);
        assert!(fixture.check_all() > 400);
        disk.set(Faults::default());
        fixture.ssd.evict(None, MIB, deadline()).unwrap();
        fixture.wait_for_state("online");
        assert!(fixture.path().used <= CAPACITY);
        assert_eq!(fixture.path().blocks, fixture.check_all() as u64);
        fixture.close();
    }
}

#[test]
fn segments_of_another_size_that_cannot_be_deleted_are_used_as_they_are() {
    let (dir, disk) = (TempDir::new().unwrap(), Disk::default());
    let mut fixture = open(&dir, &disk, 16 * CAPACITY);
    use_blocks_of(&mut fixture, MIB);
    fixture.write_many(40);
    fixture.ssd.resize(dir.path(), 2 * CAPACITY, deadline()).unwrap();
    disk.set(denied(libc::EPERM));
    let mut is_degraded = false;
    for _ in 0..12 {
        fixture.write_many(10);
        is_degraded |= fixture.path().state.name() == "degraded";
        if is_degraded {
            check_denied(&fixture);
        }
    }
    assert!(is_degraded);
    assert!(fixture.path().used <= 2 * CAPACITY);
    disk.set(Faults::default());
    fixture.write_many(120);
    fixture.wait_for_state("online");
    fixture.close();
}
