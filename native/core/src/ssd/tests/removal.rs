//! Paths that go with their files, as far as those can go.

use std::fs;

use tempfile::TempDir;

use super::fixture::{Fixture, config, deadline};
use crate::ssd::io::fault::{Disk, Faults};
use crate::ssd::*;

/// Takes the path of a fixture away with its files, which stay.
fn remove(fixture: &Fixture) -> Error {
    let removed = fixture
        .ssd
        .remove_path(&fixture.dir, PathFiles::Delete, deadline());
    assert!(fixture.ssd.snapshot().paths.is_empty(), "it is gone all the same");
    removed.unwrap_err()
}

#[track_caller]
fn check_sentence(error: &Error, dir: &std::path::Path, parts: &[&str]) {
    let message = error.message();
    let dir = dir.display();
    assert!(
        message.starts_with(&format!("{dir} is no path of the ssd tier any more, but ")),
        "{message}"
    );
    let how = format!(": delete {dir}/segment-*.ssd and {dir}/pegaflow.ssd yourself, or add the path again");
    assert!(message.ends_with(&how), "{message}");
    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
}

#[test]
fn files_that_cannot_be_deleted_are_told_and_can_be_had_again() {
    for errno in [libc::EACCES, libc::EPERM, libc::EROFS] {
        let (dir, disk) = (TempDir::new().unwrap(), Disk::default());
        let mut fixture = Fixture::open_disk(&dir, &disk);
        let hashes = fixture.write_many(100);
        let segments = fixture.path().segments;
        disk.set(Faults {
            deletions: Some(errno),
            ..Faults::default()
        });
        let error = remove(&fixture);
        assert_eq!(error.kind(), ErrorKind::Permission);
        let why = std::io::Error::from_raw_os_error(errno).to_string();
        check_sentence(
            &error,
            dir.path(),
            &[&format!("{segments} of its segments stay"), &why],
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count() as u64, segments + 1);
        disk.set(Faults::default());
        fixture.ssd.add_path(config(dir.path()).paths.remove(0)).unwrap();
        assert!(hashes.iter().all(|hash| fixture.has(hash)));
        fixture
            .ssd
            .remove_path(dir.path(), PathFiles::Delete, deadline())
            .unwrap();
        assert!(!dir.path().exists());
    }
}

#[test]
fn files_of_a_path_that_is_offline_are_told_to_stay() {
    let dir = TempDir::new().unwrap();
    let (path, away) = (dir.path().join("path"), dir.path().join("away"));
    let mut fixture = Fixture::open_config(config(&path));
    fixture.write();
    fs::rename(&path, &away).unwrap();
    fixture.wait_for_state("offline");
    let reason = fixture.path().state.reason().unwrap().to_owned();
    let error = remove(&fixture);
    assert_eq!(error.kind(), ErrorKind::Io);
    check_sentence(&error, &path, &["its files stay", &reason]);
    assert!(fs::read_dir(&away).unwrap().count() > 1);
}

#[test]
fn a_path_that_is_offline_goes_without_its_files() {
    let dir = TempDir::new().unwrap();
    let (path, away) = (dir.path().join("path"), dir.path().join("away"));
    let fixture = Fixture::open_config(config(&path));
    fs::rename(&path, &away).unwrap();
    fixture.wait_for_state("offline");
    fixture
        .ssd
        .remove_path(&path, PathFiles::Keep, deadline())
        .unwrap();
    assert!(fixture.ssd.snapshot().paths.is_empty());
}
