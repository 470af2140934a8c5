//! What is refused, and how it is said.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::fixture::{CAPACITY, Fixture, KEY, PAGES, block_write, config, deadline, fresh, geometry};
use super::mounts::{mount_again, with_mounts};
use crate::ssd::format::Identity;
use crate::ssd::*;

/// Why a tier with this path cannot be opened.
fn refusal(dir: &TempDir) -> Error {
    Ssd::open(config(dir.path())).unwrap_err()
}

fn rewrite(dir: &TempDir, change: impl FnOnce(&mut Identity)) {
    let path = dir.path().join("pegaflow.ssd");
    let mut identity = Identity::decode(&fs::read(&path).unwrap()).unwrap();
    change(&mut identity);
    fs::write(path, identity.encode()).unwrap();
}

#[test]
fn a_path_of_a_living_daemon_is_refused() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    let hash = fixture.write();
    let error = refusal(&dir);
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("is in use by another daemon"), "{error}");
    assert!(fixture.has(&hash));
    fixture.close();
    assert!(fixture.reopen(None).has(&hash));
}

#[test]
fn a_path_of_another_format_version_is_refused() {
    let dir = TempDir::new().unwrap();
    Fixture::open(&dir).close();
    rewrite(&dir, |identity| identity.format_version = 2);
    let error = refusal(&dir);
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("has format version 2, not 1"), "{error}");
}

#[test]
fn a_path_of_another_machine_is_refused() {
    let dir = TempDir::new().unwrap();
    Fixture::open(&dir).close();
    let mut before = [0; 32];
    rewrite(&dir, |identity| {
        before = identity.machine;
        identity.machine = [3; 32];
    });
    if before == [0; 32] {
        // This machine has no name: it takes any path.
        Fixture::open(&dir).close();
        return;
    }
    let error = refusal(&dir);
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("was made on another machine"), "{error}");
    rewrite(&dir, |identity| identity.machine = before);
    Fixture::open(&dir).close();
}

#[test]
fn a_path_that_is_a_file_is_refused() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Ssd::open(config(&file)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(
        error
            .message()
            .ends_with("is no directory: give the ssd tier one"),
        "{error}"
    );
}

#[test]
fn a_capacity_that_is_too_small_is_refused() {
    let dir = TempDir::new().unwrap();
    let mut config = config(dir.path());
    config.paths[0].capacity = MIN_CAPACITY - 1;
    assert_eq!(Ssd::open(config).unwrap_err().kind(), ErrorKind::Config);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_directory_is_a_path_once() {
    let dir = TempDir::new().unwrap();
    let fixture = Fixture::open(&dir);
    let path = SsdPathConfig {
        dir: dir.path().to_owned(),
        capacity: CAPACITY,
    };
    assert_eq!(
        fixture.ssd.add_path(path).unwrap_err().kind(),
        ErrorKind::Conflict
    );
    fixture.close();
}

#[test]
fn two_names_of_one_directory_are_refused() {
    let outer = TempDir::new().unwrap();
    let (real, link) = (outer.path().join("real"), outer.path().join("link"));
    let names = [
        link.join("path"),
        real.join("../real/path"),
        link.join("./../link/path"),
    ];
    fs::create_dir(&real).unwrap();
    symlink(&real, &link).unwrap();
    let path = |dir: &Path| config(dir).paths.remove(0);
    for (index, name) in names.iter().enumerate() {
        // Whether it is there before or not.
        let first = real.join("path");
        drop(fs::remove_dir_all(&first));
        if index == 2 {
            fs::create_dir(&first).unwrap();
        }
        let mut both = config(&first);
        both.paths.push(path(name));
        let errors = [Ssd::open(both).unwrap_err(), {
            let fixture = Fixture::open_config(config(&first));
            let error = fixture.ssd.add_path(path(name)).unwrap_err();
            fixture.close();
            error
        }];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Conflict);
            let message = error.message();
            assert!(message.contains("are the same directory"), "{message}");
            assert!(message.contains(first.to_str().unwrap()), "{message}");
            assert!(message.contains(name.to_str().unwrap()), "{message}");
        }
    }
    // The name is free again when the path is gone.
    let fixture = Fixture::open_config(config(&real.join("path")));
    let removed = real.join("path");
    fixture
        .ssd
        .remove_path(&removed, PathFiles::Keep, deadline())
        .unwrap();
    fixture.ssd.add_path(path(&names[0])).unwrap();
    fixture.close();
}

#[test]
fn a_directory_that_is_mounted_twice_is_refused() {
    with_mounts(
        "ssd::tests::refusal::a_directory_that_is_mounted_twice_is_refused",
        || {
            let outer = TempDir::new().unwrap();
            let [first, second] = ["first", "second"].map(|name| outer.path().join(name));
            for dir in [&first, &second] {
                fs::create_dir(dir).unwrap();
            }
            mount_again(&first, &second);
            let path = || config(&second).paths.remove(0);
            let mut both = config(&first);
            both.paths.push(path());
            let errors = [Ssd::open(both).unwrap_err(), {
                let fixture = Fixture::open_config(config(&first));
                let error = fixture.ssd.add_path(path()).unwrap_err();
                fixture.close();
                error
            }];
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::Conflict);
                assert!(error.message().contains("are the same directory"), "{error}");
            }
        },
    );
}

#[test]
fn blocks_that_do_not_fit_are_refused() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    let hash = fixture.write();
    let bytes: Vec<Vec<u8>> = PAGES.iter().map(|len| fresh(*len as usize)).collect();
    let refused = |hash, bytes: &[Vec<u8>]| {
        let write = block_write((fixture.space, &KEY), hash, bytes, |_| {
            panic!("a refused write has no end")
        });
        fixture.ssd.write(write).unwrap_err()
    };
    assert_eq!(refused(hash, &bytes), Refused::Present);
    assert_eq!(refused([1; 32], &bytes[..1]), Refused::Unfit);
    assert_eq!(
        refused([1; 32], &[bytes[1].clone(), bytes[0].clone()]),
        Refused::Unfit
    );
    let mut short = block_write((fixture.space, &KEY), hash, &bytes, |_| {});
    short.hash.truncate(8);
    assert_eq!(fixture.ssd.write(short).unwrap_err(), Refused::Unfit);

    let large = [4 << 20];
    let space = SpaceKey { group: 9, ..KEY };
    let space = fixture.ssd.space(space, &geometry(&large)).unwrap();
    let write = block_write((space, &KEY), hash, &[fresh(4 << 20)], |_| {});
    assert_eq!(fixture.ssd.write(write).unwrap_err(), Refused::Unfit);
    assert_eq!(fixture.ssd.snapshot().refused, [1, 0, 0, 0, 4]);
    fixture.close();
}

#[test]
fn a_space_of_another_geometry_is_refused_until_its_blocks_are_gone() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    fixture.write();
    let other = geometry(&[8192]);
    let error = fixture.ssd.space(KEY, &other).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(fixture.ssd.remove_space(fixture.space).blocks, 1);
    assert_ne!(fixture.ssd.space(KEY, &other).unwrap(), fixture.space);
    fixture.close();
}

#[test]
fn a_closed_tier_refuses_and_finds_nothing() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    let hash = fixture.write();
    fixture.close();
    assert!(!fixture.has(&hash));
    assert_eq!(fixture.begin([1; 32]).0, Err(Refused::Offline));
    fixture.close();
}

#[test]
fn the_budget_of_a_day_outlives_a_restart() {
    let dir = TempDir::new().unwrap();
    let with_budget = || SsdConfig {
        write_budget: Some(1 << 20),
        ..config(dir.path())
    };
    let mut written = 0;
    for _ in 0..2 {
        let mut fixture = Fixture::open_config(with_budget());
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            assert!(Instant::now() < end, "the budget has no end");
            match fixture.begin(rand::random()) {
                (Ok(()), ended) => ended.recv().unwrap().unwrap(),
                (Err(refused), _) => break assert_eq!(refused, Refused::Budget),
            }
            written += 1;
        }
        let snapshot = fixture.ssd.snapshot();
        assert_eq!(snapshot.write_budget, Some(1 << 20));
        assert!(snapshot.write_budget_left.unwrap() < super::fixture::PADDED_BYTES);
        assert!(snapshot.refused[2] > 0);
        fixture.ssd.close(deadline()).unwrap();
    }
    assert!(
        (1..=12).contains(&written),
        "{written} blocks of 80 KiB for 1 MiB"
    );
}
