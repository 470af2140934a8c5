//! Disks that answer nothing: whoever waits is told, or can leave.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::fixture::{CAPACITY, Fixture, PADDED_BYTES, config, deadline};
use crate::ssd::io::fault::{Call, Disk, Faults};
use crate::ssd::*;

/// What waits for a disk.
type Wait = fn(&Fixture, Patience<'_>) -> Result<()>;

const WAITS: [(&str, Wait); 5] = [
    ("flush", |fixture, patience| fixture.ssd.flush(patience)),
    ("evict", |fixture, patience| {
        fixture.ssd.evict(None, 1, patience).map(drop)
    }),
    ("resize", |fixture, patience| {
        fixture.ssd.resize(&fixture.dir, CAPACITY + (8 << 20), patience)
    }),
    ("verify", |fixture, mut patience| {
        let mut progress = |_| match patience.is_over() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        };
        fixture.ssd.verify(&fixture.dir, &mut progress).map(drop)
    }),
    ("remove_path", |fixture, patience| {
        let removed = fixture.ssd.remove_path(&fixture.dir, PathFiles::Delete, patience);
        removed.map(drop)
    }),
];

fn hangs(call: Option<Call>) -> Faults {
    Faults {
        hangs: call,
        ..Faults::default()
    }
}

/// A path whose disk hangs in a call of this kind, which the wait or something before it leads to.
fn hung(dir: &TempDir, disk: &Disk, call: Call) -> Fixture {
    let mut config = config(dir.path());
    config.paths[0].capacity = 2 * CAPACITY;
    let mut fixture = Fixture::open_with(config, Box::new(disk.clone())).unwrap();
    let hash = fixture.write_many(500)[0];
    fixture.flush();
    disk.set(hangs(Some(call)));
    match call {
        Call::Read => {
            let extent = fixture.ssd.find(fixture.space, &hash).unwrap();
            let mut buffer = io::Buffer::new(PADDED_BYTES as usize);
            let pages = extent.space.pages_in(buffer.page());
            let done = Box::new(move |_| drop(buffer));
            fixture.ssd.read(extent, pages, Priority::Load, done).detach();
        }
        Call::Delete => {
            // Evicts segments, whose files go.
            let mut soon = || true;
            let patience = Patience::new(deadline(), &mut soon);
            fixture.ssd.resize(&fixture.dir, CAPACITY, patience).unwrap();
        }
        // More than the segments that there are take.
        _ => (0..150).for_each(|_| drop(fixture.begin(rand::random()))),
    }
    fixture
}

#[test]
fn whoever_waits_for_a_disk_that_hangs_in_any_call_is_told() {
    let calls = [
        Call::Read,
        Call::Write,
        Call::WriteHeader,
        Call::Sync,
        Call::Allocate,
        Call::Delete,
    ];
    std::thread::scope(|scope| {
        for call in calls {
            scope.spawn(move || {
                let (dir, disk) = (TempDir::new().unwrap(), Disk::default());
                let fixture = hung(&dir, &disk, call);
                fixture.wait_for_state("offline");
                let hour = Instant::now() + Duration::from_secs(3600);
                for (name, wait) in WAITS {
                    let error = wait(&fixture, hour.into()).expect_err(name);
                    assert!(
                        error.message().contains("the disk has answered nothing"),
                        "{name} while it hangs in {call:?}: {error}"
                    );
                }
                disk.set(hangs(None));
                fixture.close();
            });
        }
    });
}

#[test]
fn whoever_waits_for_a_disk_that_hangs_can_leave_at_once() {
    let (dir, disk) = (TempDir::new().unwrap(), Disk::default());
    let fixture = hung(&dir, &disk, Call::Sync);
    for (name, wait) in WAITS {
        let is_over = AtomicBool::new(false);
        let mut looks = 0;
        let mut leave = || {
            looks += 1;
            // It is waited for before.
            is_over.store(looks > 1, Ordering::Relaxed);
            looks > 1
        };
        let start = Instant::now();
        let hour = start + Duration::from_secs(3600);
        drop(wait(&fixture, Patience::new(hour, &mut leave)));
        assert!(start.elapsed() < Duration::from_secs(5), "{name}");
        assert!(is_over.into_inner(), "{name}");
    }
    disk.set(hangs(None));
    fixture.close();
}

#[test]
fn a_tier_opens_soon_beside_a_disk_that_hangs_which_comes_when_it_answers() {
    let dirs = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let disks = [Disk::default(), Disk::default()];
    let engines = || -> Vec<(PathBuf, Disk)> {
        let its = dirs.iter().zip(&disks);
        its.map(|(dir, disk)| (dir.path().to_owned(), disk.clone()))
            .collect()
    };
    let mut config = config(dirs[0].path());
    let other = SsdPathConfig {
        dir: dirs[1].path().to_owned(),
        capacity: CAPACITY,
    };
    config.paths.push(other);
    let hash = {
        let mut fixture = Fixture::open_disk(&dirs[1], &disks[1]);
        let hash = fixture.write();
        fixture.close();
        hash
    };
    for call in [Call::Read, Call::Sync] {
        disks[1].set(hangs(Some(call)));
        let mut fixture = Fixture::open_with(config.clone(), Box::new(engines())).unwrap();
        let state = |fixture: &Fixture| fixture.ssd.snapshot().paths[1].state.clone();
        // Sooner than a path that was online would be given up.
        let reason = "the disk has answered nothing for 5 s".to_owned();
        assert_eq!(state(&fixture), PathState::Offline { reason }, "{call:?}");
        let written = fixture.write();
        fixture.flush();
        assert!(fixture.has(&written));
        assert!(!fixture.ssd.contains(fixture.space, &hash));
        disks[1].set(hangs(None));
        let end = deadline();
        while state(&fixture) != PathState::Online {
            assert!(Instant::now() < end, "{:?}", state(&fixture));
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(fixture.ssd.contains(fixture.space, &hash));
        fixture.close();
    }
}

#[test]
fn a_tier_closes_without_a_disk_that_hung_when_it_was_opened() {
    let (dir, disk) = (TempDir::new().unwrap(), Disk::default());
    disk.set(hangs(Some(Call::Allocate)));
    let fixture = Fixture::open_disk(&dir, &disk);
    let hour = Instant::now() + Duration::from_secs(3600);
    let error = fixture.ssd.close(hour).unwrap_err();
    assert!(
        error.message().contains("the disk has answered nothing for 5 s"),
        "{error}"
    );
    disk.set(hangs(None));
}

#[test]
fn a_path_that_is_refused_after_its_disk_hung_is_offline_and_can_be_removed() {
    let (dir, disk) = (TempDir::new().unwrap(), Disk::default());
    Fixture::open_disk(&dir, &disk).close();
    let locked = std::fs::File::open(dir.path().join("segment-000000.ssd")).unwrap();
    locked.lock().unwrap();
    disk.set(hangs(Some(Call::Read)));
    let fixture = Fixture::open_disk(&dir, &disk);
    disk.set(hangs(None));
    let is_refused = || {
        let state = fixture.path().state;
        state
            .reason()
            .is_some_and(|reason| reason.contains("is in use by another daemon"))
    };
    let end = deadline();
    while !is_refused() {
        assert!(Instant::now() < end, "{:?}", fixture.path().state);
        std::thread::sleep(Duration::from_millis(10));
    }
    let removed = fixture.ssd.remove_path(dir.path(), PathFiles::Keep, deadline());
    assert_eq!(removed.unwrap(), Evicted::default());
    fixture.close();
}
