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

fn free(dir: &Path) -> u64 {
    let file_system = statvfs(dir).unwrap();
    file_system.f_bavail * file_system.f_frsize
}

#[test]
fn what_is_used_by_the_path_itself_is_room_for_it() {
    let disk = TempDir::new().unwrap();
    let free = free(disk.path());
    // Others use the file system meanwhile, so the sizes are far apart.
    assert!(shortages(&[path(disk.path(), free / 2, 0)]).is_empty());
    assert!(shortages(&[path(disk.path(), 3 * free, 4 * free)]).is_empty());
    let shortages = shortages(&[path(disk.path(), 3 * free, free)]);
    assert_eq!(shortages.len(), 1);
    assert!(
        shortages[0]
            .sentence
            .contains(&format!("{:?} may take", disk.path())),
        "{shortages:?}"
    );
}

#[test]
fn paths_of_one_file_system_share_its_room() {
    let disk = TempDir::new().unwrap();
    let dirs = ["a", "b"].map(|name| disk.path().join(name));
    dirs.iter().for_each(|dir| fs::create_dir(dir).unwrap());
    let each = free(disk.path()) / 4 * 3;
    let paths = dirs.map(|dir| path(&dir, each, 0));
    assert!(shortages(&paths[..1]).is_empty());
    let shortages = shortages(&paths);
    assert_eq!(shortages.len(), 1, "{shortages:?}");
    assert!(
        paths
            .iter()
            .all(|path| shortages[0].sentence.contains(path.dir.to_str().unwrap()))
    );
}

#[test]
fn a_path_that_is_not_there_is_passed_over() {
    let disk = TempDir::new().unwrap();
    assert!(shortages(&[path(&disk.path().join("gone"), u64::MAX, 0)]).is_empty());
}

#[test]
fn each_path_has_the_sentences_on_its_own_file_system() {
    let (disk, memory) = (TempDir::new().unwrap(), TempDir::new_in("/dev/shm").unwrap());
    let large = path(disk.path(), 4 * free(disk.path()), 0);
    let small = path(memory.path(), 1, 0);
    let room = SsdRoom::default();
    room.look(&[large, small]);
    assert_eq!(room.shortages_of(disk.path()), room.shortages());
    assert_eq!(room.shortages().len(), 1);
    assert!(room.shortages_of(memory.path()).is_empty());
}

#[test]
fn a_path_that_comes_back_is_looked_at_anew() {
    let disk = TempDir::new().unwrap();
    let online = path(disk.path(), 4 * free(disk.path()), 0);
    let offline = SsdPathSnapshot {
        state: PathState::Offline {
            reason: "it fails".to_owned(),
        },
        ..online.clone()
    };
    let room = SsdRoom::default();
    for _ in 0..2 {
        room.look(std::slice::from_ref(&offline));
        assert!(!room.is_outdated(std::slice::from_ref(&offline)));
        assert!(room.shortages().is_empty());
        assert!(room.is_outdated(std::slice::from_ref(&online)));
        room.look(std::slice::from_ref(&online));
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
