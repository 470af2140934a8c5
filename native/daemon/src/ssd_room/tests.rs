use std::path::Path;

use tempfile::TempDir;

use super::*;

fn path(dir: &Path, capacity: u64, used: u64) -> SsdPathSnapshot {
    SsdPathSnapshot {
        dir: dir.to_owned(),
        capacity,
        used,
        ..SsdPathSnapshot::default()
    }
}

const FREE: u64 = 1 << 30;

/// Two disks with `FREE` bytes each, whatever this machine has.
fn disks(dir: &Path) -> Option<Place> {
    ["/one", "/other"]
        .iter()
        .zip(1..)
        .find_map(|(disk, number)| dir.starts_with(disk).then_some((number, FREE)))
}

#[test]
fn what_is_used_by_the_path_itself_is_room_for_it() {
    let shortages = |capacity, used| shortages(&[path(Path::new("/one/ssd"), capacity, used)], disks);
    assert!(shortages(FREE, 0).is_empty());
    assert!(shortages(3 * FREE, 2 * FREE).is_empty());
    let found = shortages(3 * FREE, 2 * FREE - 1);
    assert_eq!(found.len(), 1);
    assert!(
        found[0].sentence.contains("\"/one/ssd\" may take 3.0 GiB"),
        "{found:?}"
    );
}

#[test]
fn paths_of_one_file_system_share_its_room() {
    let paths = ["/one/a", "/one/b"].map(|dir| path(Path::new(dir), FREE / 4 * 3, 0));
    assert!(shortages(&paths[..1], disks).is_empty());
    let found = shortages(&paths, disks);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        paths
            .iter()
            .all(|path| found[0].sentence.contains(path.dir.to_str().unwrap()))
    );
}

#[test]
fn a_path_that_is_not_there_is_passed_over() {
    assert!(shortages(&[path(Path::new("/gone"), u64::MAX, 0)], disks).is_empty());
    let directory = TempDir::new().unwrap();
    assert_eq!(place_of(&directory.path().join("gone")), None);
}

#[test]
fn directories_of_one_file_system_have_its_number() {
    let disk = TempDir::new().unwrap();
    let below = disk.path().join("below");
    fs::create_dir(&below).unwrap();
    let number = |dir: &Path| place_of(dir).unwrap().0;
    assert_eq!(number(&below), number(disk.path()));
    assert_ne!(number(&below), number(Path::new("/proc")));
}

#[test]
fn each_path_has_the_sentences_on_its_own_file_system() {
    let [one, other] = ["/one", "/other"].map(Path::new);
    let room = SsdRoom::default();
    room.look_with(&[path(one, 4 * FREE, 0), path(other, 1, 0)], disks);
    assert_eq!(room.shortages_of(one), room.shortages());
    assert_eq!(room.shortages().len(), 1);
    assert!(room.shortages_of(other).is_empty());
}

#[test]
fn a_path_that_comes_back_is_looked_at_anew() {
    let online = path(Path::new("/one"), 4 * FREE, 0);
    let offline = SsdPathSnapshot {
        state: PathState::Offline {
            reason: "it fails".to_owned(),
        },
        ..online.clone()
    };
    let room = SsdRoom::default();
    for _ in 0..2 {
        room.look_with(std::slice::from_ref(&offline), disks);
        assert!(!room.is_outdated(std::slice::from_ref(&offline)));
        assert!(room.shortages().is_empty());
        assert!(room.is_outdated(std::slice::from_ref(&online)));
        room.look_with(std::slice::from_ref(&online), disks);
        assert!(!room.is_outdated(std::slice::from_ref(&online)));
        assert_eq!(room.shortages().len(), 1);
        // It may come back with another disk.
        assert!(!room.is_outdated(std::slice::from_ref(&offline)));
        assert!(room.is_outdated(std::slice::from_ref(&online)));
    }
}

#[test]
fn sizes_are_in_the_largest_unit_that_they_reach() {
    let sizes = [0, 1023, 1024, 1536, 5 << 30, u128::from(u64::MAX)].map(size);
    assert_eq!(
        sizes,
        ["0.0 B", "1023.0 B", "1.0 KiB", "1.5 KiB", "5.0 GiB", "16.0 EiB"]
    );
}
