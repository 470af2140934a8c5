//! Disks that fail, are full, or slow.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::fixture::{CAPACITY, Fixture, KEY, PAGES, config, deadline, geometry};
use crate::ssd::io::fault::{Call, Disk, Faults};
use crate::ssd::*;

fn with_writes(errno: i32) -> Faults {
    Faults {
        writes: Some(errno),
        ..Faults::default()
    }
}

#[test]
fn a_path_whose_writes_fail_is_offline_and_comes_back_with_its_blocks() {
    let dir = TempDir::new().unwrap();
    let disk = Disk::default();
    let mut fixture = Fixture::open_disk(&dir, &disk);
    let hash = fixture.write();
    fixture.flush();
    disk.set(with_writes(libc::EIO));
    let lost = rand::random();
    assert_eq!(fixture.write_as(lost).unwrap_err().kind(), ErrorKind::Io);
    fixture.wait_for_state("offline");
    let reason = fixture.path().state.reason().unwrap().to_owned();
    assert!(reason.contains("Input/output error"), "{reason}");
    assert!(!fixture.has(&hash));
    assert_eq!(fixture.begin([1; 32]).0, Err(Refused::Offline));
    assert!(fixture.path().write_errors > 0);

    disk.set(Faults::default());
    fixture.wait_for_state("online");
    assert!(fixture.has(&hash) && !fixture.has(&lost));
    fixture.write_as(lost).unwrap();
    assert!(fixture.has(&lost));
    fixture.close();
}

#[test]
fn a_path_whose_syncs_fail_is_offline_and_a_flush_says_so() {
    let dir = TempDir::new().unwrap();
    let disk = Disk::default();
    let mut fixture = Fixture::open_disk(&dir, &disk);
    fixture.write();
    fixture.flush();
    disk.set(Faults {
        syncs: Some(libc::EIO),
        ..Faults::default()
    });
    fixture.write();
    assert_eq!(fixture.ssd.flush(deadline()).unwrap_err().kind(), ErrorKind::Io);
    fixture.wait_for_state("offline");
    disk.set(Faults::default());
    fixture.wait_for_state("online");
    fixture.close();
}

#[test]
fn a_read_that_fails_is_a_miss_and_many_take_the_path_offline() {
    let dir = TempDir::new().unwrap();
    let disk = Disk::default();
    let mut fixture = Fixture::open_disk(&dir, &disk);
    let hashes = fixture.write_many(6);
    fixture.flush();
    let errors = [
        Faults {
            reads: Some(libc::EIO),
            ..Faults::default()
        },
        Faults {
            is_short: true,
            ..Faults::default()
        },
    ];
    for (faults, hash) in errors.iter().zip(&hashes) {
        disk.set(faults.clone());
        assert_eq!(fixture.read(hash).unwrap().unwrap_err().kind(), ErrorKind::Io);
        disk.set(Faults::default());
        assert!(!fixture.ssd.contains(fixture.space, hash));
        assert!(fixture.has(&hashes[5]));
    }
    assert_eq!(fixture.path().read_errors, 2);
    assert_eq!(fixture.path().state.name(), "online");
    disk.set(errors[0].clone());
    for hash in &hashes[2..5] {
        fixture.read(hash);
    }
    fixture.wait_for_state("offline");
    disk.set(Faults::default());
    fixture.wait_for_state("online");
    assert!(fixture.has(&hashes[5]));
    assert!(!hashes[..5].iter().any(|hash| fixture.has(hash)));
    fixture.close();
}

#[test]
fn a_file_system_that_takes_no_more_degrades_a_path_until_it_does() {
    for errno in [libc::ENOSPC, libc::EDQUOT, libc::EPERM, libc::EROFS, libc::EMFILE] {
        is_degraded_by(errno);
    }
}

fn is_degraded_by(errno: i32) {
    let dir = TempDir::new().unwrap();
    let disk = Disk::default();
    let mut fixture = Fixture::open_disk(&dir, &disk);
    disk.set(Faults {
        allocations: Some(errno),
        ..Faults::default()
    });
    // More than the two segments that there are.
    fixture.write_many(150);
    let path = fixture.path();
    assert_eq!(path.state.name(), "degraded");
    assert!(
        path.state
            .reason()
            .unwrap()
            .contains("there is no room for another segment"),
        "{path:?}"
    );
    assert_eq!(path.segments, 2);
    assert!(path.evicted_blocks > 0);
    assert!(fixture.check_all() > 40);

    disk.set(Faults::default());
    fixture.write_many(150);
    assert_eq!(fixture.path().state, PathState::Online);
    assert!(fixture.path().segments > 2);
    fixture.close();
}

#[test]
fn a_path_without_any_room_is_offline_until_it_has_some() {
    let dir = TempDir::new().unwrap();
    let disk = Disk::default();
    disk.set(Faults {
        allocations: Some(libc::ENOSPC),
        ..Faults::default()
    });
    let mut fixture = Fixture::open_disk(&dir, &disk);
    assert_eq!(fixture.path().state.name(), "offline");
    disk.set(Faults::default());
    fixture.wait_for_state("online");
    let hash = fixture.write();
    assert!(fixture.has(&hash));
    fixture.close();
}

#[test]
fn a_path_that_fails_leaves_the_others_as_they_are() {
    let dir = TempDir::new().unwrap();
    let disks = [Disk::default(), Disk::default()];
    let mut fixture = two_paths(&dir, &disks);
    fixture.write_many(50);
    fixture.flush();
    disks[0].set(with_writes(libc::EIO));
    // Whichever it goes to: the first path fails, and the second takes what comes after.
    while fixture.path().state.name() != "offline" {
        drop(fixture.begin(rand::random()).1.recv());
    }
    fixture.write_many(50);
    assert_eq!(fixture.ssd.snapshot().paths[1].state, PathState::Online);
    assert!(fixture.check_all() >= 50);
    fixture.ssd.flush(deadline()).unwrap();
    disks[0].set(Faults::default());
    fixture.wait_for_state("online");
    fixture.check_all();
    fixture.close();
}

#[test]
fn a_slow_path_takes_less_and_holds_nobody_up() {
    let dir = TempDir::new().unwrap();
    let disks = [Disk::default(), Disk::default()];
    let mut fixture = two_paths(&dir, &disks);
    disks[0].set(Faults {
        delay: Duration::from_millis(200),
        ..Faults::default()
    });
    fixture.write_many(200);
    let paths = fixture.ssd.snapshot().paths;
    assert!(paths[1].written_blocks > paths[0].written_blocks, "{paths:?}");
    disks[0].set(Faults::default());
    assert_eq!(fixture.check_all(), 200);
    fixture.close();
}

#[test]
fn a_block_goes_to_the_paths_that_have_room_for_it() {
    let dir = TempDir::new().unwrap();
    let mut two = config(dir.path());
    two.paths = [("small", CAPACITY), ("large", 16 * CAPACITY)]
        .map(|(name, capacity)| SsdPathConfig {
            dir: dir.path().join(name),
            capacity,
        })
        .into();
    let disk = Disk::default();
    let mut fixture = Fixture::open_with(two, Box::new(disk.clone())).unwrap();
    let bytes = 6 << 20;
    let key = SpaceKey { group: 9, ..KEY };
    fixture.space = fixture.ssd.space(key, &geometry(&[bytes])).unwrap();
    fixture.pages = vec![bytes];
    fixture.write_many(8);
    fixture.flush();
    let paths = fixture.ssd.snapshot().paths;
    assert_eq!((paths[0].blocks, paths[1].blocks), (0, 8));
    assert!(paths.iter().all(|path| path.state == PathState::Online));
    // What only that path had room for is not waited for.
    disk.set(Faults {
        delay: Duration::from_secs(600),
        ..Faults::default()
    });
    let ends: Vec<_> = (0..10).map(|_| fixture.begin(rand::random())).collect();
    let large = dir.path().join("large");
    std::thread::scope(|scope| {
        scope.spawn(|| fixture.ssd.resize(&large, CAPACITY, deadline()).unwrap());
        while fixture.ssd.snapshot().paths[1].capacity != CAPACITY {
            std::thread::yield_now();
        }
        disk.set(Faults::default());
    });
    for (accepted, ended) in ends {
        accepted.unwrap();
        drop(ended.recv_timeout(Duration::from_secs(60)).unwrap());
    }
    assert_eq!(fixture.begin([1; 32]).0, Err(Refused::Unfit));
    let paths = fixture.ssd.snapshot().paths;
    assert!(
        paths
            .iter()
            .all(|path| path.state.reason().unwrap().contains("larger than its segments"))
    );
    fixture.flush();
    fixture.ssd.resize(&large, 16 * CAPACITY, deadline()).unwrap();
    assert_eq!(fixture.ssd.snapshot().paths[1].state, PathState::Online);
    fixture.write();
    fixture.close();
}

/// One tier on two disks.
fn two_paths(dir: &TempDir, disks: &[Disk; 2]) -> Fixture {
    let dirs = ["0", "1"].map(|name| dir.path().join(name));
    let paths = dirs.iter().map(|dir| config(dir).paths.remove(0));
    let config = SsdConfig {
        paths: paths.collect(),
        ..config(dir.path())
    };
    let engines: Vec<_> = dirs.into_iter().zip(disks.iter().cloned()).collect();
    Fixture::open_with(config, Box::new(engines)).unwrap()
}

#[test]
fn what_waits_is_told_when_no_path_is_left() {
    let dir = TempDir::new().unwrap();
    let disk = Disk::default();
    let mut fixture = Fixture::open_disk(&dir, &disk);
    disk.set(Faults {
        delay: Duration::from_secs(600),
        ..Faults::default()
    });
    // More than a path takes at one time.
    let mut ends = Vec::new();
    for _ in 0..600 {
        let (accepted, ended) = fixture.begin(rand::random());
        if accepted.is_ok() {
            ends.push(ended);
        }
    }
    assert!(fixture.ssd.snapshot().queued_write_bytes > 0);
    disk.set(with_writes(libc::EIO));
    let mut lost = 0;
    for ended in ends {
        if let Err(error) = ended.recv_timeout(Duration::from_secs(60)).unwrap() {
            assert_eq!(error.kind(), ErrorKind::Io);
            lost += 1;
        }
    }
    assert!(lost > 100, "{lost} of 600");
    assert_eq!(fixture.ssd.snapshot().queued_write_bytes, 0);
    fixture.close();
}

#[test]
fn a_path_that_answers_nothing_is_offline_until_it_does() {
    let dir = TempDir::new().unwrap();
    let disk = Disk::default();
    let mut fixture = Fixture::open_disk(&dir, &disk);
    let hash = fixture.write();
    fixture.flush();
    disk.set(Faults {
        delay: Duration::from_secs(600),
        ..Faults::default()
    });
    let (accepted, ended) = fixture.begin([1; 32]);
    accepted.unwrap();
    fixture.wait_for_state("offline");
    let reason = fixture.path().state.reason().unwrap().to_owned();
    assert!(reason.contains("has answered nothing"), "{reason}");
    // Nobody waits for it until their own deadline.
    let hour = Instant::now() + Duration::from_secs(3600);
    let error = fixture.ssd.flush(hour).unwrap_err();
    assert!(error.message().contains("has answered nothing"), "{error}");
    assert!(!fixture.ssd.contains(fixture.space, &hash));
    assert_eq!(fixture.begin([2; 32]).0, Err(Refused::Offline));
    disk.set(Faults::default());
    ended.recv_timeout(Duration::from_secs(60)).unwrap().unwrap();
    assert_eq!(fixture.path().state, PathState::Online);
    assert!(fixture.has(&hash) && fixture.has(&[1; 32]));
    fixture.close();
}

#[test]
fn a_path_on_tmpfs_works() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let mut fixture = Fixture::open(&dir);
    let hashes = fixture.write_many(20);
    fixture.close();
    let fixture = fixture.reopen(None);
    assert!(hashes.iter().all(|hash| fixture.has(hash)));
    fixture.close();
}

#[test]
fn a_file_system_that_refuses_direct_reads_is_used_through_the_kernels_cache() {
    let dir = TempDir::new().unwrap();
    let disk = Disk::default();
    disk.set(Faults {
        reads: Some(libc::EINVAL),
        ..Faults::default()
    });
    let mut fixture = Fixture::open_disk(&dir, &disk);
    disk.set(Faults::default());
    let path = fixture.path();
    assert_eq!((path.state.name(), path.is_direct), ("online", false));
    let hashes = fixture.write_many(20);
    assert!(hashes.iter().all(|hash| fixture.has(hash)));
    assert_eq!(fixture.check_all(), 20);
    fixture.close();
}

#[test]
fn waiting_reads_go_loads_first_and_can_be_taken_back() {
    let dir = TempDir::new().unwrap();
    let disk = Disk::default();
    let mut fixture = Fixture::open_disk(&dir, &disk);
    let hashes = fixture.write_many(80);
    disk.set(Faults {
        hangs: Some(Call::Read),
        ..Faults::default()
    });
    let (sender, ended) = mpsc::channel();
    let mut buffers = Vec::new();
    let mut begin = |hash, name: usize, priority| {
        let extent = fixture.ssd.find(fixture.space, hash).unwrap();
        let mut buffer = io::Buffer::new(extent.space.padded_bytes as usize);
        let pages = extent.space.pages_in(buffer.page());
        buffers.push(buffer);
        let sender = sender.clone();
        let done: ReadDone = Box::new(move |result| sender.send((name, result.is_ok())).unwrap());
        fixture.ssd.read(extent, pages, priority, done)
    };
    // More than the disk is given at one time.
    let mut warms: Vec<ReadTicket> = (0..60)
        .map(|index| begin(&hashes[index], index, Priority::Warm))
        .collect();
    let loads: Vec<ReadTicket> = (60..80)
        .map(|index| begin(&hashes[index], index, Priority::Load))
        .collect();
    assert!(fixture.ssd.snapshot().queued_read_bytes > 0);
    let cancelled = warms.split_off(50).into_iter().map(ReadTicket::cancel);
    assert!(cancelled.collect::<Vec<_>>().iter().all(|cancelled| *cancelled));
    warms.into_iter().chain(loads).for_each(ReadTicket::detach);
    disk.set(Faults::default());
    drop(sender);
    let order: Vec<(usize, bool)> = ended.iter().collect();
    assert_eq!(order.len(), 70);
    assert!(order.iter().all(|(_, is_right)| *is_right));
    let place = |name| order.iter().position(|(other, _)| *other == name).unwrap();
    assert!((60..80).all(|load| place(load) < place(49)));
    assert_eq!(fixture.ssd.snapshot().queued_read_bytes, 0);
    fixture.close();
}

#[test]
fn a_path_can_come_and_go_while_the_tier_works() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open_config(config(&dir.path().join("a")));
    let first = fixture.write_many(20);
    let added = SsdPathConfig {
        dir: dir.path().join("b"),
        capacity: CAPACITY,
    };
    fixture.ssd.add_path(added.clone()).unwrap();
    fixture
        .ssd
        .remove_path(&dir.path().join("a"), PathFiles::Keep, deadline())
        .unwrap();
    assert!(!first.iter().any(|hash| fixture.ssd.contains(fixture.space, hash)));
    let second = fixture.write_many(20);
    fixture
        .ssd
        .add_path(SsdPathConfig {
            dir: dir.path().join("a"),
            capacity: CAPACITY,
        })
        .unwrap();
    assert!(first.iter().chain(&second).all(|hash| fixture.has(hash)));
    let evicted = fixture
        .ssd
        .remove_path(&added.dir, PathFiles::Delete, deadline())
        .unwrap();
    assert_eq!(evicted.blocks, 20);
    assert!(!added.dir.exists());
    assert_eq!(fixture.check_all(), 20);
    let error = fixture
        .ssd
        .remove_path(&added.dir, PathFiles::Keep, deadline())
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert_eq!(fixture.ssd.space(KEY, &geometry(&PAGES)).unwrap(), fixture.space);
    fixture.close();
}
