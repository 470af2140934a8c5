//! Which directories can hold a pool.

use std::path::Path;

use tempfile::TempDir;

use crate::error::ErrorKind;
use crate::pool::PoolKind;
use crate::pool::place::Place;

const MIB: u64 = 1 << 20;
/// More than any machine has in /dev/shm.
const TOO_LARGE: u64 = 1 << 60;

#[test]
fn a_directory_on_tmpfs_holds_pool_and_slot_table() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let place = Place::choose(Some(dir.path()), MIB).unwrap();
    let path = dir.path().canonicalize().unwrap();
    assert_eq!(
        place,
        Place::Directory {
            kind: PoolKind::Tmpfs,
            pool: path.clone(),
            slots: path,
            huge_page_bytes: 0
        }
    );
}

#[test]
fn a_directory_on_another_file_system_is_refused_with_its_name_and_what_is_allowed() {
    let error = Place::choose(Some(Path::new("/proc")), MIB).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    for part in ["/proc", "procfs", "hugetlbfs", "tmpfs", "--pool-dir"] {
        assert!(error.message().contains(part), "{error} lacks {part}");
    }
}

#[test]
fn a_directory_that_does_not_exist_is_refused() {
    let error = Place::choose(Some(Path::new("/dev/shm/no/such/directory")), MIB).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains("/dev/shm/no/such/directory"), "{error}");
}

#[test]
fn a_given_directory_without_room_is_refused_with_both_sizes() {
    let error = Place::choose(Some(Path::new("/dev/shm")), TOO_LARGE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    for part in [
        TOO_LARGE.to_string().as_str(),
        "bytes free",
        "smaller",
        "--pool-dir",
    ] {
        assert!(error.message().contains(part), "{error} lacks {part}");
    }
}

/// Their own room has no limit in the place of huge pages here.
#[test]
fn huge_pages_without_room_for_the_slot_table_beside_them_are_refused() {
    let place = Place::Directory {
        kind: PoolKind::Hugetlbfs,
        pool: "/proc".into(),
        slots: "/dev/shm".into(),
        huge_page_bytes: 0,
    };
    place.check_room(MIB).unwrap();
    let error = place.check_room(TOO_LARGE).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let pool = format!("of a slot table for a pool of {TOO_LARGE} bytes does not fit in /dev/shm");
    for part in [pool.as_str(), "bytes free", "mount -o remount,size="] {
        assert!(error.message().contains(part), "{error} lacks {part}");
    }
}

#[test]
fn without_a_given_directory_no_room_means_anonymous_memory_with_the_reason() {
    match Place::choose(None, TOO_LARGE).unwrap() {
        Place::Anonymous { reason } => assert!(reason.contains("bytes free"), "{reason}"),
        other => panic!("{other:?}"),
    }
}
