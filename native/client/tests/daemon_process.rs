//! A worker and a daemon in a process of its own, which is stopped, killed, and told to end.
//!
//! This program is both processes, so it has its own `main`.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a test"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use libtest_mimic::{Arguments, Trial};
use pegaflow_client::{TransferEnd, WorkerClient, stop};
use rustix::process::{Pid, Signal, kill_process};

#[path = "client/fake/mod.rs"]
#[expect(dead_code, reason = "the other tests use all of it")]
mod fake;
#[path = "client/stage.rs"]
#[expect(dead_code, reason = "the other tests use all of it")]
mod stage;

use fake::{BOOT, FakeDaemon, Script};
use stage::{LIMIT, Stage, ends, eventually, hashes};

/// Ten times what an idle machine needs, and less than the deadline of a transfer.
const ON_A_BUSY_MACHINE: Duration = Duration::from_secs(20);

const TESTS: [(&str, fn()); 4] = [
    (
        "a_load_in_mid_copy_ends_when_the_daemon_s_process_has",
        a_load_in_mid_copy_ends_when_the_daemon_s_process_has,
    ),
    (
        "a_load_in_mid_copy_waits_for_a_stopped_daemon",
        a_load_in_mid_copy_waits_for_a_stopped_daemon,
    ),
    (
        "transfers_to_a_stopped_daemon_are_given_up_within_seconds",
        transfers_to_a_stopped_daemon_are_given_up_within_seconds,
    ),
    (
        "stop_returns_when_the_process_has_ended",
        stop_returns_when_the_process_has_ended,
    ),
];

fn main() {
    match std::env::args().collect::<Vec<_>>().as_slice() {
        [_, role, socket] if role == "serve" => serve(Path::new(socket)),
        _ => {
            let trials = TESTS.map(|(name, test)| {
                Trial::test(name, move || {
                    test();
                    Ok(())
                })
            });
            libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
        }
    }
}

/// Loads take the grant and copy until this process is told to go on; then they give it back, and end.
fn serve(socket: &Path) {
    let (go_on, waits) = tokio::sync::watch::channel(false);
    let load =
        move |(grants, request): (std::sync::Arc<pegaflow_core::grant::GrantFile>, _)| -> fake::Answer<_> {
            let mut waits = waits.clone();
            Box::pin(async move {
                let request: pegaflow_proto::v1::LoadRequest = request;
                let grant = request.grant.unwrap();
                let taken = grants.take(grant.slot, grant.generation).unwrap().unwrap();
                println!("taken");
                waits.wait_for(|go_on| *go_on).await.unwrap();
                drop(taken);
                std::future::pending().await
            })
        };
    let _daemon = FakeDaemon::start(
        socket,
        Script {
            load: Box::new(load),
            ..Script::default()
        },
    );
    println!("ready");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    go_on.send_replace(true);
    loop {
        thread::park();
    }
}

struct Daemon {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Daemon {
    fn start(socket: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg("serve")
            .arg(socket)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut daemon = Self { child, lines };
        daemon.expect("ready");
        daemon
    }

    fn expect(&mut self, line: &str) {
        assert_eq!(self.lines.next().unwrap().unwrap(), line);
    }

    fn go_on(&mut self) {
        writeln!(self.child.stdin.as_mut().unwrap()).unwrap();
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A worker with a load that the daemon has taken.
fn copying(stage: &Stage) -> (Daemon, WorkerClient, u64) {
    let mut daemon = Daemon::start(&stage.socket);
    let worker = registered(stage);
    let id = worker.load("l", 1, BOOT, 0, vec![1], None).unwrap();
    daemon.expect("taken");
    (daemon, worker, id)
}

fn registered(stage: &Stage) -> WorkerClient {
    let worker = stage.worker();
    worker.identify([1; 16], [2; 32]).unwrap();
    eventually("registered", || worker.attached().unwrap());
    worker
}

fn assert_failed(end: &TransferEnd, id: u64) {
    assert_eq!((end.transfer_id, end.ok), (id, false));
}

fn a_load_in_mid_copy_ends_when_the_daemon_s_process_has() {
    let stage = Stage::new();
    let (daemon, worker, id) = copying(&stage);
    assert!(!worker.revoke(id).unwrap());
    daemon.signal(Signal::KILL);
    let begun = Instant::now();
    assert_failed(&ends(&worker, 1)[0], id);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

fn a_load_in_mid_copy_waits_for_a_stopped_daemon() {
    let stage = Stage::new();
    let (mut daemon, worker, id) = copying(&stage);
    daemon.signal(Signal::STOP);
    // The connection is given up after some seconds; the blocks are not.
    eventually("given up", || !worker.attached().unwrap());
    assert_eq!(
        (
            worker.revoke(id).unwrap(),
            worker.in_flight().unwrap(),
            worker.poll().unwrap()
        ),
        (false, 1, vec![])
    );
    daemon.go_on();
    daemon.signal(Signal::CONT);
    let begun = Instant::now();
    assert_failed(&ends(&worker, 1)[0], id);
    eventually("registered again", || worker.attached().unwrap());
    assert!(begun.elapsed() < ON_A_BUSY_MACHINE, "{:?}", begun.elapsed());
}

fn transfers_to_a_stopped_daemon_are_given_up_within_seconds() {
    let stage = Stage::new();
    let daemon = Daemon::start(&stage.socket);
    let worker = registered(&stage);
    daemon.signal(Signal::STOP);
    let begun = Instant::now();
    let save = worker
        .save("s", hashes(1, 1), Bytes::new(), vec![0], None)
        .unwrap()
        .unwrap();
    let load = worker.load("l", 1, BOOT, 0, vec![1], None).unwrap();
    let mut given_up = ends(&worker, 2);
    given_up.sort_by_key(|end| end.transfer_id);
    assert_failed(&given_up[0], save);
    assert_failed(&given_up[1], load);
    assert!(begun.elapsed() < ON_A_BUSY_MACHINE, "{:?}", begun.elapsed());
    eventually("nothing is sent to it any more", || {
        worker
            .save("s", hashes(1, 1), Bytes::new(), vec![0], None)
            .unwrap()
            .is_none()
    });
    daemon.signal(Signal::CONT);
}

fn stop_returns_when_the_process_has_ended() {
    let stage = Stage::new();
    let mut daemon = Daemon::start(&stage.socket);
    let stopped = stop(&stage.socket, false, LIMIT).unwrap();
    assert_eq!((stopped.pid, stopped.pool_bytes_kept), (daemon.child.id(), 4_096));
    assert!(
        daemon.child.try_wait().unwrap().is_some(),
        "the process still runs"
    );
}
