//! Pools of ended daemons are taken over or, without a socket, removed; those of living ones and of strangers never.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use tempfile::TempDir;

use super::files::{config, header_of};
use crate::error::ErrorKind;
use crate::pool::geometry::Geometry;
use crate::pool::header::Header;
use crate::pool::{Pool, PoolKind, names, remove_left};
use crate::process::ProcessIdentity;

const MIB: u64 = 1 << 20;

fn uid() -> u32 {
    geteuid().as_raw()
}

/// A process that lives as long as this.
struct LivingProcess {
    child: Child,
    identity: ProcessIdentity,
}

impl LivingProcess {
    fn new() -> Self {
        let child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let identity = ProcessIdentity::of(child.id()).unwrap();
        Self { child, identity }
    }
}

impl Drop for LivingProcess {
    fn drop(&mut self) {
        // Its input ends, and with it the process.
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

/// A process that has ended and was waited for.
fn ended_process() -> ProcessIdentity {
    LivingProcess::new().identity
}

fn header(owner: ProcessIdentity, pool_path: PathBuf, socket: &Path) -> Header {
    let geometry = Geometry::of(2 * MIB, 0).unwrap();
    Header {
        format_version: 1,
        kind: PoolKind::Tmpfs,
        boot_id: 1,
        owner,
        uid: uid(),
        geometry,
        pool_path,
        socket: names::canonical(socket),
    }
}

/// A pool and a slot table in `dir`, as a kill leaves them: a daemon of `owner` for `socket` had them.
struct Left {
    pool: PathBuf,
    slots: PathBuf,
}

impl Left {
    fn new(dir: &Path, socket: &Path, owner: ProcessIdentity) -> Self {
        let stem = names::stem(uid(), socket);
        let (pool, slots) = (
            dir.join(names::pool_file(&stem)),
            dir.join(names::slots_file(&stem)),
        );
        fs::write(&pool, "pages").unwrap();
        let left = Self { pool, slots };
        left.write_header(&header(owner, left.pool.clone(), socket));
        left
    }

    fn header(&self) -> Header {
        header_of(&self.slots)
    }

    fn write_header(&self, header: &Header) {
        fs::write(&self.slots, header.encode().unwrap()).unwrap();
        let table = fs::OpenOptions::new().write(true).open(&self.slots).unwrap();
        table.set_len(header.table_bytes()).unwrap();
    }

    fn is_there(&self) -> bool {
        self.pool.exists() && self.slots.exists()
    }

    fn is_gone(&self) -> bool {
        !self.pool.exists() && !self.slots.exists()
    }
}

/// A socket in a directory that does not exist.
const GONE_SOCKET: &str = "/no/such/directory/daemon.sock";

fn lock(path: &Path) -> fs::File {
    let file = fs::File::open(path).unwrap();
    flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    file
}

#[test]
fn a_pool_whose_socket_can_come_back_stays_and_an_orphan_goes() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let kept = Left::new(dir.path(), Path::new("/another.sock"), ended_process());
    let orphan = Left::new(dir.path(), Path::new(GONE_SOCKET), ended_process());
    let pool = Pool::open(config(2 * MIB, dir.path())).unwrap();
    assert!(kept.is_there());
    assert!(orphan.is_gone());
    pool.close(true).unwrap();
    assert!(kept.is_there());
}

#[test]
fn an_orphan_of_a_living_daemon_stays() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let living = LivingProcess::new();
    let alive = Left::new(dir.path(), Path::new(GONE_SOCKET), living.identity);
    Pool::open(config(2 * MIB, dir.path())).unwrap();
    assert!(alive.is_there());
}

#[test]
fn a_held_lock_means_alive_even_when_the_owner_cannot_be_seen() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let alive = Left::new(dir.path(), Path::new(GONE_SOCKET), ended_process());
    let _lock = lock(&alive.slots);
    Pool::open(config(2 * MIB, dir.path())).unwrap();
    assert!(alive.is_there());
}

#[test]
fn a_reused_pid_does_not_keep_an_orphan_alive() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let living = LivingProcess::new();
    let earlier = ProcessIdentity {
        start_time_ticks: living.identity.start_time_ticks - 1,
        ..living.identity
    };
    let orphan = Left::new(dir.path(), Path::new(GONE_SOCKET), earlier);
    Pool::open(config(2 * MIB, dir.path())).unwrap();
    assert!(orphan.is_gone());
}

#[test]
fn the_own_name_in_use_by_a_living_daemon_is_refused_with_its_pid() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let living = LivingProcess::new();
    let own = Left::new(dir.path(), dir.path(), living.identity);
    let _lock = lock(&own.slots);
    let error = Pool::open(config(2 * MIB, dir.path())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(
        error.message().contains(&living.identity.pid.to_string()),
        "{error}"
    );
    assert!(own.is_there());
}

#[test]
fn an_owner_that_let_its_lock_go_is_waited_for_until_it_has_ended() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let ending = LivingProcess::new();
    let identity = ending.identity;
    Left::new(dir.path(), dir.path(), identity);
    let end = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        drop(ending);
    });
    let opened = Pool::open(config(2 * MIB, dir.path())).unwrap();
    let process = crate::process::PeerProcess::open(identity.pid);
    assert!(process.is_err_and(|error| error.kind() == ErrorKind::PeerEnded));
    end.join().unwrap();
    drop(opened);
}

#[test]
fn an_own_pool_that_is_not_as_it_would_be_made_is_replaced() {
    let changes: [fn(&mut Header); 8] = [
        |header| header.format_version = 2,
        |header| header.geometry.slab_bytes = 0,
        |header| header.geometry.slab_bytes += 4096,
        |header| header.geometry.slab_bytes *= 2,
        |header| header.geometry.slots = 1,
        |header| header.kind = PoolKind::Hugetlbfs,
        |header| header.socket = PathBuf::from("/another.sock"),
        |header| header.socket = PathBuf::new(),
    ];
    for change in changes {
        let dir = TempDir::new_in("/dev/shm").unwrap();
        let own = Left::new(dir.path(), dir.path(), ended_process());
        let mut header = own.header();
        change(&mut header);
        own.write_header(&header);
        let pool = Pool::open(config(2 * MIB, dir.path())).unwrap();
        assert!(pool.survey().unwrap().is_none(), "{header:?}");
        assert!(!fs::read(&own.pool).unwrap().starts_with(b"pages"));
        pool.close(true).unwrap();
        assert!(own.is_gone());
    }
}

#[test]
fn an_own_pool_with_damaged_files_is_replaced() {
    type Damage = fn(&Left);
    let damages: [Damage; 4] = [
        |left| fs::remove_file(&left.pool).unwrap(),
        |left| fs::write(&left.pool, vec![1; 3 << 20]).unwrap(),
        |left| {
            fs::remove_file(&left.pool).unwrap();
            std::os::unix::fs::symlink("/dev/zero", &left.pool).unwrap();
        },
        |left| {
            let table = fs::OpenOptions::new().write(true).open(&left.slots).unwrap();
            table.set_len(4096).unwrap();
        },
    ];
    for damage in damages {
        let dir = TempDir::new_in("/dev/shm").unwrap();
        let own = Left::new(dir.path(), dir.path(), ended_process());
        damage(&own);
        match Pool::open(config(2 * MIB, dir.path())) {
            Ok(pool) => {
                assert!(pool.survey().unwrap().is_none());
                pool.close(true).unwrap();
                assert!(own.is_gone());
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict);
                assert!(error.message().contains(own.pool.to_str().unwrap()), "{error}");
            }
        }
    }
}

#[test]
fn settings_that_cannot_be_had_leave_the_own_pool_alone() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let own = Left::new(dir.path(), dir.path(), ended_process());
    assert_eq!(
        Pool::open(config(1, dir.path())).unwrap_err().kind(),
        ErrorKind::Config
    );
    assert!(own.is_there());
}

#[test]
fn a_pool_that_is_taken_over_is_its_takers() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let own = Left::new(dir.path(), dir.path(), ended_process());
    let pool = Pool::open(config(2 * MIB, dir.path())).unwrap();
    assert!(pool.survey().unwrap().is_some());
    let header = own.header();
    assert_eq!(
        (header.owner.pid, header.boot_id),
        (std::process::id(), config(2 * MIB, dir.path()).boot_id)
    );
    let locked = flock(
        fs::File::open(&own.slots).unwrap(),
        FlockOperation::NonBlockingLockExclusive,
    );
    assert!(locked.is_err(), "the lock is kept");
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
    let own = Left::new(dir.path(), dir.path(), ended_process());
    let other = lock(&own.slots);
    let looking = thread::spawn(move || {
        thread::sleep(Duration::from_millis(50));
        drop(other);
    });
    let opened = Pool::open(config(2 * MIB, dir.path())).unwrap();
    looking.join().unwrap();
    assert_eq!(own.header().owner.pid, std::process::id());
    drop(opened);
}

#[test]
fn what_an_ended_daemon_left_is_freed_on_request() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let own = Left::new(dir.path(), dir.path(), ended_process());
    let other = Left::new(dir.path(), &dir.path().join("other.sock"), ended_process());
    let bytes = fs::metadata(&own.pool).unwrap().blocks() + fs::metadata(&own.slots).unwrap().blocks();
    assert_eq!(remove_left(dir.path(), Some(dir.path())).unwrap(), bytes * 512);
    assert!(own.is_gone() && other.is_there());
    assert_eq!(remove_left(dir.path(), Some(dir.path())).unwrap(), 0);
}

#[test]
fn a_damaged_slot_table_and_its_pool_are_freed_on_request_unless_somebody_has_them() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let own = Left::new(dir.path(), dir.path(), ended_process());
    for damage in [&[7; 8192][..], &[]] {
        fs::write(&own.slots, damage).unwrap();
        fs::write(&own.pool, "pages").unwrap();
        let locked = lock(&own.slots);
        let error = remove_left(dir.path(), Some(dir.path())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(own.is_there());
        drop(locked);
        let error = Pool::open(config(2 * MIB, dir.path())).unwrap_err();
        assert!(error.message().contains("stop --purge"), "{error}");
        assert!(remove_left(dir.path(), Some(dir.path())).unwrap() > 0);
        assert!(own.is_gone());
    }
}

#[test]
fn a_pool_whose_slot_table_is_gone_is_freed_on_request_unless_somebody_has_it() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let own = Left::new(dir.path(), dir.path(), ended_process());
    let other = Left::new(dir.path(), &dir.path().join("other.sock"), ended_process());
    for path in [&own.slots, &other.slots] {
        fs::remove_file(path).unwrap();
    }
    let error = Pool::open(config(2 * MIB, dir.path())).unwrap_err();
    assert!(error.message().contains("stop --purge"), "{error}");
    let locked = lock(&own.pool);
    let error = remove_left(dir.path(), Some(dir.path())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(own.pool.exists());
    drop(locked);
    assert_eq!(remove_left(dir.path(), Some(dir.path())).unwrap(), 4096);
    assert!(own.is_gone() && other.pool.exists());

    // A daemon that lives has its pool, also when somebody takes its slot table away.
    let pool = Pool::open(config(2 * MIB, dir.path())).unwrap();
    fs::remove_file(&own.slots).unwrap();
    let error = remove_left(dir.path(), Some(dir.path())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(own.pool.exists());
    drop(pool);
}

#[test]
fn what_a_living_daemon_has_is_not_freed() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let pool = Pool::open(config(2 * MIB, dir.path())).unwrap();
    let error = remove_left(dir.path(), Some(dir.path())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(pool.path().unwrap().exists());
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
    let other_user = names::stem(uid() + 1, Path::new(GONE_SOCKET));
    let other_user = dir.path().join(names::slots_file(&other_user));
    fs::write(
        &other_user,
        header(ended_process(), PathBuf::new(), Path::new(GONE_SOCKET))
            .encode()
            .unwrap(),
    )
    .unwrap();
    let not_a_table = dir
        .path()
        .join(names::slots_file(&names::stem(uid(), Path::new("/b.sock"))));
    fs::write(&not_a_table, [7; 8192]).unwrap();
    let no_stem = dir.path().join(format!("pegaflow-{}-notes.slots", uid()));
    fs::write(&no_stem, "notes").unwrap();
    let link = dir
        .path()
        .join(names::slots_file(&names::stem(uid(), Path::new("/c.sock"))));
    let elsewhere = dir.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let target = Left::new(&elsewhere, Path::new(GONE_SOCKET), ended_process());
    std::os::unix::fs::symlink(&target.slots, &link).unwrap();

    Pool::open(config(2 * MIB, dir.path())).unwrap();
    for path in [
        &other_user,
        &not_a_table,
        &no_stem,
        &link,
        &target.slots,
        &target.pool,
    ] {
        assert!(path.symlink_metadata().is_ok(), "{} is gone", path.display());
    }
}

#[test]
fn a_header_never_leads_to_the_removal_of_a_file_that_is_no_pool_of_its_stem() {
    let dir = TempDir::new_in("/dev/shm").unwrap();
    let precious = dir.path().join("precious");
    fs::write(&precious, "keep").unwrap();
    let slots = dir
        .path()
        .join(names::slots_file(&names::stem(uid(), Path::new(GONE_SOCKET))));
    let lies = header(ended_process(), precious.clone(), Path::new(GONE_SOCKET));
    fs::write(&slots, lies.encode().unwrap()).unwrap();
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
