//! Files that somebody takes away.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::fixture::{Fixture, config, deadline};
use crate::ssd::*;

#[test]
fn a_path_whose_files_are_taken_away_is_offline_until_they_are_put_back() {
    let dir = TempDir::new().unwrap();
    let (path, away) = (dir.path().join("path"), dir.path().join("away"));
    let taken = [path.clone(), path.join("pegaflow.ssd")];
    let mut fixture = Fixture::open_config(config(&path));
    let hash = fixture.write();
    fixture.flush();
    for taken in taken {
        fs::rename(&taken, &away).unwrap();
        fixture.wait_for_state("offline");
        assert!(!fixture.has(&hash));
        assert_eq!(fixture.begin([1; 32]).0, Err(Refused::Offline));
        fs::rename(&away, &taken).unwrap();
        fixture.wait_for_state("online");
        assert!(fixture.has(&hash));
    }
    fixture.close();
}

#[test]
fn a_path_that_stays_away_says_so_at_each_try() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("path");
    let fixture = Fixture::open_config(config(&path));
    fs::remove_dir_all(&path).unwrap();
    fixture.wait_for_state("offline");
    // Not that some file of it cannot be opened.
    let said = format!(
        "{} was moved, replaced or deleted while in use: put it back, or remove",
        path.display()
    );
    let end = deadline();
    while !fixture
        .path()
        .state
        .reason()
        .is_some_and(|reason| reason.starts_with(&said))
    {
        assert!(Instant::now() < end, "{:?}", fixture.path().state);
        thread::sleep(Duration::from_millis(5));
    }
    fixture.close();
}

#[test]
fn what_a_path_made_that_could_not_be_used_goes_and_nothing_else() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("path");
    let fixture = Fixture::open_config(config(&path));
    let used = fs::read_dir(&path).unwrap().count();
    remove_made(&path);
    assert_eq!(fs::read_dir(&path).unwrap().count(), used, "it is in use");
    fixture.close();
    fs::write(path.join("notes"), "mine").unwrap();
    remove_made(&path);
    let left: Vec<_> = fs::read_dir(&path)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["notes"]);
    fs::remove_file(path.join("notes")).unwrap();
    remove_made(&path);
    assert!(!path.exists());
    remove_made(&path);
}

#[test]
fn segments_without_the_file_that_names_them_are_left_alone() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    let hash = fixture.write();
    fixture.close();
    let (identity, away) = (dir.path().join("pegaflow.ssd"), dir.path().join("away"));
    fs::rename(&identity, &away).unwrap();
    let error = Ssd::open(config(dir.path())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(
        error.message().contains("has segments of the ssd tier"),
        "{error}"
    );
    assert!(!identity.exists());
    fs::rename(&away, &identity).unwrap();
    assert!(fixture.reopen(None).has(&hash));
}

#[test]
fn a_path_whose_disk_is_not_mounted_makes_nothing_in_its_place() {
    let dir = TempDir::new().unwrap();
    let mount = dir.path().join("mount");
    let mut fixture = Fixture::open_config(config(&mount.join("path")));
    fixture.wait_for_state("offline");
    assert_eq!(fixture.begin([1; 32]).0, Err(Refused::Offline));
    assert!(!mount.exists());
    fs::create_dir(&mount).unwrap();
    fixture.wait_for_state("online");
    let hash = fixture.write();
    assert!(fixture.has(&hash));
    fixture.close();
}
