//! A service manager hears when the daemon answers, that it lives, and when it ends.

use std::io::ErrorKind;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::engine::connect;
use crate::support::{Child, config};

/// Longer than any machine needs.
const PATIENCE: Duration = Duration::from_secs(30);
const WATCHDOG: Duration = Duration::from_millis(300);

/// What a manager hears on its socket.
struct Manager(UnixDatagram);

impl Manager {
    /// What it heard next.
    fn hear(&self) -> String {
        self.hear_within(PATIENCE)
            .unwrap_or_else(|| panic!("nothing was said"))
    }

    fn hear_within(&self, limit: Duration) -> Option<String> {
        self.0.set_read_timeout(Some(limit)).unwrap();
        let mut datagram = [0; 4096];
        match self.0.recv(&mut datagram) {
            Ok(length) => Some(String::from_utf8(datagram[..length].to_vec()).unwrap()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => panic!("{error}"),
        }
    }

    /// Hears signs of life until `what` is said.
    fn hear_at_last(&self, what: &str) {
        let began = Instant::now();
        loop {
            let said = self.hear();
            if said.split('\n').any(|line| line == what) {
                return;
            }
            assert_eq!(said, "WATCHDOG=1");
            assert!(began.elapsed() < PATIENCE, "{what} was not said");
        }
    }
}

fn at_path(directory: &Path) -> (Manager, String) {
    let path = directory.join("notify");
    (
        Manager(UnixDatagram::bind(&path).unwrap()),
        path.display().to_string(),
    )
}

fn without_path() -> (Manager, String) {
    let name = format!("pegaflow-test-{:016x}", rand::random::<u64>());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    (
        Manager(UnixDatagram::bind_addr(&address).unwrap()),
        format!("@{name}"),
    )
}

fn start(what: &str, directory: &TempDir, environment: &[(&str, &str)]) -> Child {
    let settings = serde_json::to_string(&config(directory.path())).unwrap();
    Child::start_with(what, &settings, environment)
}

#[tokio::test]
async fn it_hears_of_a_daemon_that_answers_and_of_its_end() {
    for has_path in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let (manager, name) = if has_path {
            at_path(directory.path())
        } else {
            without_path()
        };
        let mut daemon = start("daemon", &directory, &[("NOTIFY_SOCKET", &name)]);
        let said = manager.hear();
        assert!(said.starts_with("READY=1\nSTATUS=serving"), "{said}");
        connect(&directory.path().join("daemon.sock")).await;

        daemon.signal(Signal::TERM);
        assert_eq!(manager.hear(), "STOPPING=1\nSTATUS=draining");
        assert!(daemon.wait().success());
        assert_eq!(
            manager.hear_within(Duration::from_millis(1)),
            None,
            "no watchdog was asked for"
        );
    }
}

#[test]
fn it_does_not_hear_of_a_daemon_that_does_not_answer_yet() {
    let directory = tempfile::tempdir().unwrap();
    let (manager, name) = at_path(directory.path());
    let daemon = start("stuck-daemon", &directory, &[("NOTIFY_SOCKET", &name)]);
    assert_eq!(manager.hear_within(Duration::from_millis(300)), None);
    drop(daemon);
}

#[test]
fn signs_of_life_come_until_the_daemon_hangs_and_while_it_drains() {
    let directory = tempfile::tempdir().unwrap();
    let (manager, name) = at_path(directory.path());
    let period = WATCHDOG.as_micros().to_string();
    let environment = [("NOTIFY_SOCKET", name.as_str()), ("WATCHDOG_USEC", &period)];
    let mut daemon = start("daemon", &directory, &environment);
    manager.hear_at_last("READY=1");
    for _ in 0..3 {
        assert_eq!(manager.hear(), "WATCHDOG=1");
    }

    daemon.signal(Signal::STOP);
    daemon.wait_stopped();
    while manager.hear_within(Duration::from_millis(1)).is_some() {}
    assert_eq!(manager.hear_within(3 * WATCHDOG), None, "it hangs");

    daemon.signal(Signal::CONT);
    assert_eq!(manager.hear(), "WATCHDOG=1");
    daemon.signal(Signal::TERM);
    manager.hear_at_last("STOPPING=1");
    assert!(daemon.wait().success());
}

#[test]
fn signs_of_life_of_another_process_are_not_given() {
    let directory = tempfile::tempdir().unwrap();
    let (manager, name) = at_path(directory.path());
    let environment = [
        ("NOTIFY_SOCKET", name.as_str()),
        ("WATCHDOG_USEC", "2000"),
        ("WATCHDOG_PID", "1"),
    ];
    let mut daemon = start("daemon", &directory, &environment);
    assert!(manager.hear().starts_with("READY=1"));
    daemon.signal(Signal::TERM);
    assert!(manager.hear().starts_with("STOPPING=1"));
    assert!(daemon.wait().success());
}
