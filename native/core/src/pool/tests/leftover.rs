//! Pools of ended daemons are removed; those of living ones and of strangers never.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use tempfile::TempDir;

use super::files::config;
use crate::error::ErrorKind;
use crate::pool::files::PoolFiles;
use crate::pool::geometry::Geometry;
use crate::pool::header::Header;
use crate::pool::{Pool, PoolKind, names};
use crate::process::ProcessIdentity;

const MIB: u64 = 1 << 20;

fn uid() -> u32 {
    geteuid().as_raw()
}

/// A process that has ended and was waited for.
fn ended_process() -> ProcessIdentity {
    let mut child = Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let identity = ProcessIdentity::of(child.id()).unwrap();
    child.wait().unwrap();
    identity
}

fn header(owner: ProcessIdentity, pool_path: PathBuf) -> Header {
    let geometry = Geometry::of(2 * MIB, 0).unwrap();
    Header {
        format_version: 1,
        kind: PoolKind::Tmpfs,
        boot_id: 1,
        owner,
        uid: uid(),
        geometry,
        pool_path,
    }
}

/// The files of a daemon of `owner`, as a kill leaves them.
fn leave(dir: &Path, stem: &str, owner: ProcessIdentity) -> (PathBuf, PathBuf) {
    let pool = dir.join(names::pool_file(stem));
    let slots = dir.join(names::slots_file(stem));
    fs::write(&pool, "pages").unwrap();
    fs::write(&slots, header(owner, pool.clone()).encode().unwrap()).unwrap();
    (pool, slots)
}

#[test]
fn the_pools_of_ended_daemons_are_removed_whatever_their_socket() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let own = names::stem(uid(), dir.path());
    let others = names::stem(uid(), Path::new("/another.sock"));
    let left = [
        leave(dir.path(), &own, ended_process()),
        leave(dir.path(), &others, ended_process()),
    ];
    let pool = Pool::open(config(2 * MIB, dir.path())).unwrap();
    assert!(!left[1].0.exists() && !left[1].1.exists());
    assert_eq!(pool.path(), Some(left[0].0.as_path()));
    assert!(!fs::read(&left[0].0).unwrap().starts_with(b"pages"));
    pool.close().unwrap();
}

#[test]
fn a_later_format_version_does_not_keep_a_dead_pool_alive() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let stem = names::stem(uid(), dir.path());
    let (_, slots) = leave(dir.path(), &stem, ended_process());
    let later = Header {
        format_version: 2,
        ..Header::decode(&fs::read(&slots).unwrap()).unwrap()
    };
    fs::write(&slots, later.encode().unwrap()).unwrap();
    Pool::open(config(2 * MIB, dir.path())).unwrap();
}

#[test]
fn the_pool_of_a_living_daemon_stays_and_its_name_is_refused_with_its_pid() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let living = ProcessIdentity::of(std::process::id()).unwrap();
    let others = leave(
        dir.path(),
        &names::stem(uid(), Path::new("/another.sock")),
        living,
    );
    Pool::open(config(2 * MIB, dir.path())).unwrap().close().unwrap();
    assert!(others.0.exists() && others.1.exists());

    let own = leave(dir.path(), &names::stem(uid(), dir.path()), living);
    let error = Pool::open(config(2 * MIB, dir.path())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains(&living.pid.to_string()), "{error}");
    assert!(own.0.exists() && own.1.exists());
}

#[test]
fn a_reused_pid_does_not_keep_a_dead_pool_alive() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let living = ProcessIdentity::of(std::process::id()).unwrap();
    let earlier = ProcessIdentity {
        start_time_ticks: living.start_time_ticks - 1,
        ..living
    };
    let (pool, slots) = leave(
        dir.path(),
        &names::stem(uid(), Path::new("/another.sock")),
        earlier,
    );
    Pool::open(config(2 * MIB, dir.path())).unwrap();
    assert!(!pool.exists() && !slots.exists());
}

#[test]
fn a_held_lock_means_alive_even_when_the_owner_cannot_be_seen() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let stem = names::stem(uid(), Path::new("/another.sock"));
    let slots = dir.path().join(names::slots_file(&stem));
    let header = header(ended_process(), dir.path().join(names::pool_file(&stem)));
    let files = PoolFiles::create(&header, &slots).unwrap();
    Pool::open(config(2 * MIB, dir.path())).unwrap();
    assert!(slots.exists());
    drop(files);
    assert!(!slots.exists());
}

#[test]
fn a_directory_that_does_not_exist_is_refused_as_a_setting() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let error = Pool::open(config(2 * MIB, &dir.path().join("missing"))).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains("--pool-dir"), "{error}");
}

#[test]
fn a_dead_pool_that_another_starting_daemon_looks_at_is_waited_for() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let own = names::stem(uid(), dir.path());
    let (slots, pool) = leave(dir.path(), &own, ended_process());
    let other = fs::File::open(&slots).unwrap();
    flock(&other, FlockOperation::NonBlockingLockExclusive).unwrap();
    let looking = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        drop(other);
    });
    let opened = Pool::open(config(2 * MIB, dir.path())).unwrap();
    looking.join().unwrap();
    assert_ne!(fs::read(&pool).unwrap(), b"pages", "the pool is a new one");
    drop(opened);
}

#[test]
fn a_second_daemon_on_the_same_socket_is_refused() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let first = Pool::open(config(2 * MIB, dir.path())).unwrap();
    assert_eq!(
        Pool::open(config(2 * MIB, dir.path())).unwrap_err().kind(),
        ErrorKind::Conflict
    );
    assert!(first.path().unwrap().exists());
}

#[test]
fn strangers_files_are_left_alone() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let other_user = leave(
        dir.path(),
        &names::stem(uid() + 1, Path::new("/a.sock")),
        ended_process(),
    );
    let not_a_table = dir
        .path()
        .join(names::slots_file(&names::stem(uid(), Path::new("/b.sock"))));
    fs::write(&not_a_table, [7; 8192]).unwrap();
    let no_stem = dir.path().join(format!("pegaflow-{}-notes.slots", uid()));
    fs::write(&no_stem, "notes").unwrap();
    let link = dir
        .path()
        .join(names::slots_file(&names::stem(uid(), Path::new("/c.sock"))));
    let (_, target) = leave(&tempfile_dir(&dir), "target", ended_process());
    std::os::unix::fs::symlink(&target, &link).unwrap();

    Pool::open(config(2 * MIB, dir.path())).unwrap();
    for path in [
        &other_user.0,
        &other_user.1,
        &not_a_table,
        &no_stem,
        &link,
        &target,
    ] {
        assert!(path.symlink_metadata().is_ok(), "{} is gone", path.display());
    }
}

fn tempfile_dir(dir: &TempDir) -> PathBuf {
    let path = dir.path().join("elsewhere");
    fs::create_dir(&path).unwrap();
    path
}

#[test]
fn a_header_never_leads_to_the_removal_of_a_file_that_is_no_pool_of_its_stem() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let precious = dir.path().join("precious");
    fs::write(&precious, "keep").unwrap();
    let slots = dir
        .path()
        .join(names::slots_file(&names::stem(uid(), Path::new("/a.sock"))));
    fs::write(
        &slots,
        header(ended_process(), precious.clone()).encode().unwrap(),
    )
    .unwrap();
    Pool::open(config(2 * MIB, dir.path())).unwrap();
    assert!(precious.exists());
    assert!(!slots.exists());
}

#[test]
fn unknown_content_under_the_own_name_is_an_error_that_names_the_file() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let stem = names::stem(uid(), dir.path());
    for name in [names::slots_file(&stem), names::pool_file(&stem)] {
        let path = dir.path().join(name);
        fs::write(&path, "unknown").unwrap();
        let error = Pool::open(config(2 * MIB, dir.path())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.message().contains(path.to_str().unwrap()), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"unknown");
        fs::remove_file(&path).unwrap();
    }
    assert_eq!(dir.path().read_dir().unwrap().count(), 0);
}
