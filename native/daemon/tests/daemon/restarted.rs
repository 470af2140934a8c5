//! The blocks of a daemon that ended, however it ended, are those of the next; not one byte of them is another.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::thread;

use pegaflow_core::error::{Error, ErrorKind};
use pegaflow_daemon::{DaemonConfig, run};
use pegaflow_proto::v1::control_client::ControlClient;
use pegaflow_proto::v1::load_response::Outcome;
use pegaflow_proto::v1::{StatusRequest, StopRequest};
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::engine::{Engine, Shape, connect, fresh_hashes};
use crate::support::{Child, config, eventually, metrics};

const BLOCKS: u32 = 20;

/// A host on which daemons come and go: their pool is in its directory, and goes with it.
struct Host {
    directory: TempDir,
    settings: DaemonConfig,
}

impl Host {
    fn new() -> Self {
        let directory = TempDir::new_in("/dev/shm").unwrap();
        let mut settings = config(directory.path());
        settings.pool_dir = Some(directory.path().to_owned());
        Self { directory, settings }
    }

    fn start_daemon(&self) -> Child {
        Child::start("daemon", &serde_json::to_string(&self.settings).unwrap())
    }

    async fn status(&self) -> Value {
        let mut control = ControlClient::new(connect(&self.settings.socket).await);
        let answer = control.status(StatusRequest {}).await.unwrap();
        serde_json::from_slice(&answer.get_ref().json).unwrap()
    }

    async fn stop(&self, purge: bool) -> u64 {
        let mut control = ControlClient::new(connect(&self.settings.socket).await);
        let answer = control.stop(StopRequest { purge }).await.unwrap();
        answer.get_ref().pool_bytes_kept
    }

    /// Waits until a kill would lose no block.
    async fn wait_checksums(&self) {
        eventually("all pages have their checksums", async || {
            self.status().await["checksums"]["pending_pages"] == 0
        })
        .await;
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap().flatten();
        let mut names: Vec<_> = entries
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn pool(&self) -> &Path {
        self.directory.path()
    }
}

/// How a daemon ends.
#[derive(Debug, Clone, Copy)]
enum Ending {
    Killed,
    Terminated,
    Stopped,
}

#[tokio::test]
async fn a_new_engine_of_the_next_daemon_loads_what_was_saved() {
    for ending in [Ending::Killed, Ending::Terminated, Ending::Stopped] {
        let host = Host::new();
        let mut daemon = host.start_daemon();
        assert_eq!(host.status().await["taken_over"], Value::Null);
        let shape = Shape::with_workers(2);
        let mut saver = Engine::start(&host.settings.socket, &shape).await;
        let (hashes, blocks): (_, Vec<u32>) = (fresh_hashes(BLOCKS as usize), (0..BLOCKS).collect());
        saver.save(&hashes, &blocks).await;
        match ending {
            Ending::Killed => {
                host.wait_checksums().await;
                daemon.kill();
            }
            Ending::Terminated => {
                daemon.signal(Signal::TERM);
                daemon.wait();
            }
            Ending::Stopped => {
                assert!(host.stop(false).await > 0, "the pool stays");
                daemon.wait();
            }
        }

        let next = host.start_daemon();
        assert_eq!(next.said["taken_over_blocks"], BLOCKS, "{ending:?}");
        assert_eq!(
            metrics(next.said["http_addr"].as_str().unwrap())["pegaflow_taken_over_blocks"],
            f64::from(BLOCKS)
        );
        let mut loader = Engine::start(&host.settings.socket, &shape.twin()).await;
        let found = loader.lookup(&hashes).await;
        assert_eq!(found.memory_blocks, BLOCKS, "{ending:?}");
        let to: Vec<u32> = (BLOCKS..2 * BLOCKS).collect();
        for (worker, saved) in loader.workers.iter_mut().zip(&saver.workers) {
            let answer = worker.load(found.lease_id, 0, &to).await.unwrap();
            assert_eq!(answer.outcome(), Outcome::Loaded, "{}", answer.message);
            for (&from, &to) in blocks.iter().zip(&to) {
                assert!(worker.memory.block(to) == saved.memory.block(from));
            }
        }
    }
}

#[tokio::test]
async fn a_start_that_cannot_say_so_leaves_the_blocks_to_the_next_one() {
    let host = Host::new();
    let mut daemon = host.start_daemon();
    let mut engine = Engine::start(&host.settings.socket, &Shape::new()).await;
    engine.save(&fresh_hashes(3), &[0, 1, 2]).await;
    assert!(host.stop(false).await > 0);
    daemon.wait();

    let settings = host.settings.clone();
    let unheard = thread::spawn(|| {
        run(settings, Vec::new(), |_| {
            Err(Error::new(ErrorKind::Config, "nobody hears it"))
        })
    });
    assert_eq!(unheard.join().unwrap().unwrap_err().message(), "nobody hears it");
    assert_eq!(host.start_daemon().said["taken_over_blocks"], 3);
}

#[tokio::test]
async fn twenty_kills_in_a_row_leave_one_pool_and_a_purge_none() {
    let host = Host::new();
    let shape = Shape::new();
    let mut hashes = Vec::new();
    let files = {
        let _daemon = host.start_daemon();
        host.files()
    };
    for kill in 0..20 {
        let mut daemon = host.start_daemon();
        let mut engine = Engine::start(&host.settings.socket, &shape).await;
        assert_eq!(engine.lookup(&hashes).await.memory_blocks, kill);
        let hash = fresh_hashes(1);
        engine.save(&hash, &[kill]).await;
        hashes.extend(hash);
        host.wait_checksums().await;
        daemon.kill();
        drop(engine);
    }
    let mut last = host.start_daemon();
    assert_eq!(host.files(), files, "no kill left anything of its own");
    assert_eq!(host.stop(true).await, 0);
    last.wait();
    assert!(host.files().is_empty(), "{:?}", host.files());
}

#[tokio::test]
async fn a_page_that_changed_while_no_daemon_ran_is_a_failed_load_and_then_a_miss() {
    let host = Host::new();
    let mut daemon = host.start_daemon();
    let shape = Shape::new();
    let mut saver = Engine::start(&host.settings.socket, &shape).await;
    let hashes = fresh_hashes(3);
    saver.save(&hashes, &[0, 1, 2]).await;
    host.wait_checksums().await;
    daemon.kill();
    flip_a_bit(host.pool(), &saver.workers[0].memory.block(1));

    let _next = host.start_daemon();
    let mut loader = Engine::start(&host.settings.socket, &shape.twin()).await;
    let found = loader.lookup(&hashes).await;
    assert_eq!(found.memory_blocks, 3, "nobody has looked at the bytes yet");
    let answer = loader.workers[0]
        .load(found.lease_id, 0, &[4, 5, 6])
        .await
        .unwrap();
    assert_ne!(answer.outcome(), Outcome::Loaded);
    assert!(
        answer.message.contains("not what was saved"),
        "{}",
        answer.message
    );
    assert_eq!(loader.lookup(&hashes).await.memory_blocks, 1);
    assert_eq!(host.status().await["checksums"]["corrupt_blocks"], 1);
}

/// Changes the page with this content in the one pool of `directory`.
fn flip_a_bit(directory: &Path, page: &[u8]) {
    let path = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "pool"))
        .unwrap();
    let pool = fs::read(&path).unwrap();
    let at = (0..pool.len())
        .step_by(4096)
        .find(|at| pool[*at..].starts_with(page))
        .unwrap();
    let file = OpenOptions::new().write(true).open(path).unwrap();
    let place = at + page.len() / 2;
    file.write_all_at(&[pool[place] ^ 1], place as u64).unwrap();
}

#[tokio::test]
async fn one_that_takes_a_pool_of_another_size_over_says_the_size_that_it_will_have() {
    let mut host = Host::new();
    host.start_daemon().kill();
    // As a resize leaves it that a kill ended: larger or smaller than what the next daemon is to have.
    for mib in [32_u64, 96, 64] {
        host.settings.pool_bytes = mib << 20;
        let mut daemon = host.start_daemon();
        assert_eq!(daemon.said["pool_bytes"], mib << 20);
        daemon.kill();
    }
}
