//! A socket has one daemon, and a new one takes the place of one that has ended.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{self, Command};
use std::thread;
use std::time::Duration;

use pegaflow_core::error::{Error, ErrorKind};
use pegaflow_core::process::{PeerProcess, ProcessIdentity};
use pegaflow_daemon::{DaemonConfig, run};

use rustix::fs::{FlockOperation, flock};

use crate::support::engine::{Engine, Shape};
use crate::support::{Child, Daemon, config};

fn refused(config: DaemonConfig) -> Error {
    let error = run(config, Vec::new(), |_| panic!("it must not start")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    error
}

#[tokio::test]
async fn a_second_daemon_is_refused_with_the_pid_of_the_first() {
    let daemon = Daemon::start();
    let error = refused(config(daemon.directory()));
    assert!(
        error
            .message()
            .contains(&format!("daemon {} serves", process::id())),
        "{error}"
    );
    assert!(error.message().contains("pegaflow stop"), "{error}");
    daemon.status().await;
}

#[tokio::test]
async fn a_daemon_whose_lock_somebody_removed_keeps_its_socket_and_its_engines() {
    let daemon = Daemon::start();
    let engine = Engine::start(daemon.socket(), &Shape::new()).await;
    fs::remove_file(daemon.directory().join("daemon.sock.lock")).unwrap();
    let error = refused(config(daemon.directory()));
    assert!(error.message().contains("serves"), "{error}");
    daemon.status().await;
    assert!(Path::new(&engine.workers[0].registered.grant_file).exists());
}

#[tokio::test]
async fn a_killed_daemon_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let settings = serde_json::to_string(&config(directory.path())).unwrap();
    let mut first = Child::start("daemon", &settings);
    let socket = config(directory.path()).socket;
    let engine = Engine::start(&socket, &Shape::new()).await;
    let left_over = engine.workers[0].registered.grant_file.clone();
    first.kill();
    assert!(
        socket.exists() && Path::new(&left_over).exists(),
        "a killed daemon leaves its files"
    );

    let second = Child::start("daemon", &settings);
    assert_ne!(first.said["boot_id"], second.said["boot_id"]);
    assert!(
        !Path::new(&left_over).exists(),
        "grants of an earlier daemon are void"
    );
    Engine::start(&socket, &Shape::new()).await;
}

/// After a kill the lock is free before the process has ended, while its copies may still land.
#[test]
fn a_daemon_whose_lock_is_free_but_that_still_runs_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let mut before = Command::new("sleep").arg("600").spawn().unwrap();
    let identity = ProcessIdentity::of(before.id()).unwrap();
    let lock = directory.path().join("daemon.sock.lock");
    fs::write(&lock, format!("{} {}\n", identity.pid, identity.start_time_ticks)).unwrap();
    let process = PeerProcess::open(before.id()).unwrap();

    let settings = config(directory.path());
    let daemon = thread::spawn(move || {
        run(settings, Vec::new(), |_| {
            Err(Error::new(
                ErrorKind::Io,
                if process.has_ended()? { "after" } else { "before" },
            ))
        })
    });
    let lock = File::open(&lock).unwrap();
    while flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok() {
        flock(&lock, FlockOperation::Unlock).unwrap();
        thread::sleep(Duration::from_millis(1));
    }
    // A daemon that does not wait is ready by then.
    thread::sleep(Duration::from_millis(300));
    before.kill().unwrap();
    before.wait().unwrap();
    assert_eq!(daemon.join().unwrap().unwrap_err().message(), "after");
}

#[tokio::test]
async fn the_files_are_the_users_own_and_go_with_the_daemon() {
    let directory = tempfile::tempdir().unwrap();
    let daemon =
        Daemon::start_with(|settings| settings.socket = directory.path().join("pegaflow/daemon.sock"));
    let engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(daemon.socket()), 0o600);
    assert_eq!(mode(daemon.socket().parent().unwrap()), 0o700);
    let grant_file = Path::new(&engine.workers[0].registered.grant_file);
    assert_eq!(mode(grant_file), 0o600);
    assert_eq!(mode(grant_file.parent().unwrap()), 0o700);

    daemon.stop().await;
    let left: Vec<_> = fs::read_dir(directory.path().join("pegaflow"))
        .unwrap()
        .flatten()
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn places_that_cannot_be_used_are_refused_with_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let with = |socket: &Path| DaemonConfig {
        socket: socket.to_owned(),
        ..config(directory.path())
    };

    let missing = refused(with(&directory.path().join("missing/daemon.sock")));
    assert!(missing.message().contains("create that directory"), "{missing}");

    let long = refused(with(&directory.path().join("x".repeat(110))));
    assert!(
        long.message().contains("bytes") && long.message().contains("107"),
        "{long}"
    );

    let left = || -> BTreeSet<OsString> {
        let entries = fs::read_dir(directory.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect()
    };
    let file = directory.path().join("a-file");
    fs::write(&file, "precious").unwrap();
    let not_a_socket = refused(with(&file));
    assert!(not_a_socket.message().contains("not a socket"), "{not_a_socket}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");

    let relative = refused(with(Path::new("daemon.sock")));
    assert!(relative.message().contains("absolute"), "{relative}");

    let group = DaemonConfig {
        socket_group: Some("no such group".to_owned()),
        ..config(directory.path())
    };
    assert!(refused(group).message().contains("no such group"));
    assert_eq!(left(), [OsString::from("a-file")].into());
}

#[tokio::test]
async fn an_http_address_that_is_taken_is_refused_and_without_one_the_next_free_is_taken() {
    let first = Daemon::start_with(|settings| settings.http_addr = None);
    let second = Daemon::start_with(|settings| settings.http_addr = None);
    assert_ne!(first.ready.http_addr, second.ready.http_addr);
    assert_eq!(second.status().await["http_addr"], second.ready.http_addr);

    let directory = tempfile::tempdir().unwrap();
    let taken = DaemonConfig {
        http_addr: Some(first.ready.http_addr.clone()),
        ..config(directory.path())
    };
    let error = refused(taken);
    assert!(error.message().contains(&first.ready.http_addr), "{error}");
    let left = fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 0, "a daemon that did not start leaves nothing");
}
