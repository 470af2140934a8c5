//! A daemon or an engine in a process of its own, for tests that kill it.
//!
//! Says one line of JSON when it is ready, and ends when its standard input does.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test ends where it fails"
)]

use std::fs;
use std::io::{Read, Write, stdin, stdout};
use std::path::Path;
use std::process::{Command, Stdio};

use pegaflow_core::error::{Error, Result};
use pegaflow_daemon::{DaemonConfig, run};
use rustix::fd::OwnedFd;
use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
use serde_json::{Value, json};

#[path = "../daemon/support/engine.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod engine;

use engine::{Engine, Shape, fresh_hashes};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["daemon", config] => serve_daemon(config, || {}).unwrap(),
        ["stuck-daemon", config] => serve_daemon(config, wait_for_end_of_input).unwrap(),
        ["engine", socket] => use_daemon(Path::new(socket)),
        _ => panic!("usage: daemon CONFIG | stuck-daemon CONFIG | engine SOCKET"),
    }
}

fn say(line: &Value) {
    let mut out = stdout();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

fn wait_for_end_of_input() {
    stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// `then` runs on the thread that answers calls, before the first.
fn serve_daemon(config: &str, then: impl FnOnce()) -> Result<()> {
    run(DaemonConfig::from_json(config)?, Vec::new(), |ready| {
        say(&serde_json::to_value(ready).map_err(|error| Error::io("tell what is ready", error.into()))?);
        then();
        Ok(())
    })
}

/// Attaches, saves, and holds a lease. Other processes keep its connections open when it is killed.
fn use_daemon(socket: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let shape = Shape::new();
        let mut engine = Engine::start(socket, &shape).await;
        let hashes = fresh_hashes(8);
        engine.save(&hashes, &[0, 1, 2, 3, 4, 5, 6, 7]).await;
        let lease = engine.lookup(&hashes).await.lease_id;
        let keepers: Vec<u32> = own_sockets().into_iter().map(keep_open).collect();
        say(&json!({
            "lease": lease,
            "grant_file": engine.workers[0].registered.grant_file,
            "keepers": keepers,
        }));
        tokio::task::spawn_blocking(wait_for_end_of_input).await.unwrap();
    });
}

fn own_sockets() -> Vec<OwnedFd> {
    let own = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
    let open = fs::read_dir("/proc/self/fd").unwrap().flatten();
    let sockets = open.filter(|entry| {
        fs::read_link(entry.path()).is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
    });
    let numbers = sockets.map(|entry| entry.file_name().to_str().unwrap().parse().unwrap());
    numbers
        .map(|number| pidfd_getfd(&own, number, PidfdGetfdFlags::empty()).unwrap())
        .collect()
}

/// A process that holds the descriptor, for as long as it lives.
fn keep_open(descriptor: OwnedFd) -> u32 {
    Command::new("sleep")
        .arg("600")
        .stdin(descriptor)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
        .id()
}
