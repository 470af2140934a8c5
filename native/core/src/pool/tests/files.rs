//! The two files of a pool, on a real /dev/shm.

use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;
use tempfile::TempDir;

use crate::error::ErrorKind;
use crate::pool::header::Header;
use crate::pool::{Pool, PoolConfig, names};

const MIB: u64 = 1 << 20;

pub(super) fn config(pool_bytes: u64, dir: &Path) -> PoolConfig<'_> {
    PoolConfig {
        pool_bytes,
        dir: Some(dir),
        socket: dir,
        boot_id: 42,
    }
}

/// The header of this slot table.
pub(super) fn header_of(slots: &Path) -> Header {
    let mut bytes = [0; 4096];
    fs::File::open(slots).unwrap().read_exact(&mut bytes).unwrap();
    Header::decode(&bytes).unwrap()
}

fn names_in(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = dir
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn both_files_are_named_by_user_and_socket_and_are_only_the_users() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let pool = Pool::open(config(4 * MIB, dir.path())).unwrap();
    let stem = names::stem(geteuid().as_raw(), dir.path());
    assert_eq!(
        names_in(dir.path()),
        [format!("{stem}.pool"), format!("{stem}.slots")]
    );
    for name in names_in(dir.path()) {
        assert_eq!(
            fs::metadata(dir.path().join(name)).unwrap().mode() & 0o7777,
            0o600
        );
    }
    pool.close(true).unwrap();
}

#[test]
fn the_header_says_whose_pool_it_is() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let pool = Pool::open(config(4 * MIB, dir.path())).unwrap();
    let stem = names::stem(geteuid().as_raw(), dir.path());
    let header = header_of(&dir.path().join(names::slots_file(&stem)));
    assert_eq!(header.owner.pid, std::process::id());
    assert_eq!((header.boot_id, header.format_version), (42, 1));
    assert_eq!(Some(header.pool_path.as_path()), pool.path());
    assert_eq!(
        (header.geometry.pool_bytes, header.geometry.slab_bytes),
        (pool.bytes(), pool.slab_bytes())
    );
}

#[test]
fn a_pool_without_pages_leaves_no_file_when_closed_or_dropped() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let pool = Pool::open(config(4 * MIB, dir.path())).unwrap();
    assert_eq!(pool.close(false).unwrap(), 0);
    assert!(names_in(dir.path()).is_empty());
    let place = crate::pool::place::Place::choose(Some(dir.path()), MIB).unwrap();
    drop(Pool::create(config(4 * MIB, dir.path()), 0, "stem", place).unwrap());
    assert!(names_in(dir.path()).is_empty());
}

#[test]
fn a_pool_does_not_remove_files_that_others_put_in_its_place() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let pool = Pool::open(config(4 * MIB, dir.path())).unwrap();
    let path = pool.path().unwrap().to_owned();
    fs::remove_file(&path).unwrap();
    fs::write(&path, "another's").unwrap();
    pool.close(true).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"another's");
}

#[test]
fn the_socket_is_one_by_whichever_link_it_is_named() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let real = dir.path().join("real");
    let link = dir.path().join("link");
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    assert_eq!(
        names::stem(1, &real.join("daemon.sock")),
        names::stem(1, &link.join("daemon.sock"))
    );
    assert_ne!(
        names::stem(1, &real.join("daemon.sock")),
        names::stem(1, &real.join("other.sock"))
    );
    assert_ne!(
        names::stem(1, &real.join("daemon.sock")),
        names::stem(2, &real.join("daemon.sock"))
    );
}

#[test]
fn a_pool_larger_than_the_machine_is_a_configuration_error() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    assert_eq!(
        Pool::open(config(1 << 50, dir.path())).unwrap_err().kind(),
        ErrorKind::Config
    );
    assert!(names_in(dir.path()).is_empty());
}
