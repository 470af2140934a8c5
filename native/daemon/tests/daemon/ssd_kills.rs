//! A daemon killed at any moment over a disk that outlives it: the next one serves what was saved and nothing else, has all that
//! was said to be on disk, and its files do not grow.
//!
//! The pool goes with each daemon, so that every hit is one of the disk. `make chaos-ssd` does more of the same.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pegaflow_daemon::DaemonConfig;
use pegaflow_proto::v1::control_client::ControlClient;
use pegaflow_proto::v1::load_response::Outcome;
use pegaflow_proto::v1::lookup_response::State;
use pegaflow_proto::v1::operate_event::Event;
use pegaflow_proto::v1::{OperateRequest, operate_request};
use serde_json::json;
use tempfile::TempDir;

use crate::support::engine::{BLOCKS, Engine, Memory, Session, Shape, Worker, connect, fresh_hashes};
use crate::support::engine::{lookup_request, packed};
use crate::support::{Child, config};

type Hash = [u8; 32];

/// Kills where nothing else is said: few, since this is a test among many.
const KILLS: u32 = 20;
const CAPACITY_BYTES: u64 = 64 << 20;
/// Large enough that the kills of the test write the capacity more than once.
const SEGMENT_BYTES: usize = 10_000;
/// What so many daemons, with what they left unused, write to the disk drives nothing out that the first of them wrote.
const KEPT_DAEMONS: usize = 3;

fn kills() -> u32 {
    std::env::var("PEGAFLOW_KILLS").map_or(KILLS, |kills| kills.parse().unwrap())
}

/// What the synthetic engines have saved, and what the daemons have made of it.
struct Ledger {
    /// Bytes by hash, of all that a save was begun for.
    bytes: HashMap<Hash, Vec<u8>>,
    /// What was said to be on disk, by daemon.
    synced: Vec<Vec<Hash>>,
    /// Hits whose bytes were compared.
    compared: u64,
}

struct Host {
    pool: TempDir,
    disk: TempDir,
    settings: DaemonConfig,
    shape: Shape,
}

impl Host {
    fn new() -> Self {
        let pool = TempDir::new_in("/dev/shm").unwrap();
        let disk = TempDir::new().unwrap();
        let mut settings = config(pool.path());
        settings.pool_dir = Some(pool.path().to_owned());
        let path = json!([{ "path": disk.path().join("ssd"), "capacity_bytes": CAPACITY_BYTES }]);
        settings.ssd = serde_json::from_value(path).unwrap();
        Self {
            pool,
            disk,
            settings,
            shape: Shape::new(),
        }
    }

    fn daemon(&self) -> Child {
        Child::start("daemon", &self.arguments())
    }

    fn arguments(&self) -> String {
        serde_json::to_string(&self.settings).unwrap()
    }

    /// An engine with bytes that nobody has seen.
    async fn engine(&self) -> Engine {
        let shape = self.shape.twin();
        let socket = &self.settings.socket;
        let scheduler = Session::attach(connect(socket).await, shape.attach_scheduler())
            .await
            .unwrap();
        let memory = Memory::with_segments(SEGMENT_BYTES);
        let worker = Worker::with_memory(socket, &shape, 0, 0, memory).await.unwrap();
        Engine {
            scheduler,
            workers: vec![worker],
        }
    }

    /// Waits until all that was saved is on disk.
    async fn sync(&self) {
        for tier in ["memory", "ssd"] {
            let operation = json!({ "operation": "tier-flush", "tier": tier }).to_string();
            let request = OperateRequest {
                request: Some(operate_request::Request::Operation(operation.into_bytes().into())),
            };
            let mut control = ControlClient::new(connect(&self.settings.socket).await);
            let requests =
                tokio_stream::StreamExt::chain(tokio_stream::once(request), tokio_stream::pending());
            let mut events = control.operate(requests).await.unwrap().into_inner();
            while !matches!(
                events.message().await.unwrap().unwrap().event.unwrap(),
                Event::Result(_)
            ) {}
        }
    }

    /// Takes the pool away, so that the next daemon has the disk only.
    fn purge(&self) {
        for entry in self.pool.path().read_dir().unwrap().flatten() {
            let path = entry.path();
            if path
                .extension()
                .is_some_and(|end| end == "pool" || end == "slots")
            {
                fs::remove_file(path).unwrap();
            }
        }
    }

    /// Bytes of the disk that the files take.
    fn disk_bytes(&self) -> u64 {
        files(&self.disk.path().join("ssd"))
            .iter()
            .map(|path| fs::metadata(path).unwrap())
            .map(|metadata| metadata.len().max(metadata.blocks() * 512))
            .sum()
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = dir.read_dir().unwrap().flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .collect()
}

impl Ledger {
    /// Loads whatever of these blocks is a hit, and compares it; how many were.
    async fn compare(&mut self, engine: &mut Engine, hashes: &[Hash]) -> usize {
        let mut hits = 0;
        for part in hashes.chunks(BLOCKS as usize) {
            // A miss ends a prefix: what comes after it is asked for anew.
            let mut rest = part;
            while !rest.is_empty() {
                let found = self.compare_prefix(engine, rest).await;
                hits += found;
                rest = &rest[(found + 1).min(rest.len())..];
            }
        }
        hits
    }

    async fn compare_prefix(&mut self, engine: &mut Engine, hashes: &[Hash]) -> usize {
        let request = lookup_request(engine.scheduler.id(), packed(hashes));
        let found = loop {
            let answer = engine.scheduler.rpc.lookup(request.clone()).await.unwrap();
            if answer.get_ref().state() != State::Pending {
                break answer.into_inner();
            }
        };
        let count = (found.memory_blocks + found.ssd_blocks) as usize;
        if count == 0 {
            return 0;
        }
        let worker = &mut engine.workers[0];
        let blocks: Vec<_> = (0..count as u32).collect();
        let answer = worker.load(found.lease_id, 0, &blocks).await.unwrap();
        assert_eq!(answer.outcome(), Outcome::Loaded, "{}", answer.message);
        for (hash, block) in hashes.iter().zip(blocks) {
            assert!(
                worker.memory.block(block) == self.bytes[hash],
                "other bytes than were saved"
            );
            self.compared += 1;
        }
        count
    }

    /// All that a save was begun for, in no order.
    fn all(&self) -> Vec<Hash> {
        self.bytes.keys().copied().collect()
    }
}

/// Saves blocks, says when they are on disk, and goes on with others until the daemon is killed.
async fn save_until_killed(host: &Host, ledger: &mut Ledger, daemon: &mut Child) {
    let mut engine = host.engine().await;
    let worker = &mut engine.workers[0];
    let hashes = fresh_hashes(BLOCKS as usize);
    for (hash, block) in hashes.iter().zip(0..) {
        ledger.bytes.insert(*hash, worker.memory.block(block));
    }
    let synced = rand::random_range(0..BLOCKS / 2);
    let blocks: Vec<_> = (0..synced).collect();
    if synced > 0 {
        let answer = worker.save(&hashes[..synced as usize], &blocks).await;
        assert_eq!(answer.saved, synced, "{answer:?}");
        host.sync().await;
    }
    ledger.synced.push(hashes[..synced as usize].to_vec());
    let pause = Duration::from_micros(rand::random_range(0..60_000));
    let save_others = async {
        for block in synced..BLOCKS {
            let grant = worker.grants.issue().unwrap().unwrap();
            let request = worker.save_request(&hashes[block as usize..=block as usize], &[block], &grant);
            // Killed, it answers nothing.
            if worker.session.rpc.save(request).await.is_err() {
                break;
            }
            grant.settle().unwrap();
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = save_others => {}
        () = tokio::time::sleep(pause) => daemon.kill(),
    }
}

#[tokio::test]
async fn a_daemon_killed_at_any_moment_loses_nothing_that_was_on_disk_and_serves_nothing_else() {
    let host = Host::new();
    let mut ledger = Ledger {
        bytes: HashMap::new(),
        synced: Vec::new(),
        compared: 0,
    };
    let mut most_bytes = 0;
    for kill in 0..kills() {
        if kill % 4 == 3 {
            // While it reads what is on disk, or not yet.
            let limit = Duration::from_micros(rand::random_range(0..200_000));
            Child::start_and_kill("daemon", &host.arguments(), limit);
            host.purge();
        }
        let mut daemon = host.daemon();
        let mut engine = host.engine().await;
        let from = ledger.synced.len().saturating_sub(KEPT_DAEMONS);
        let must_be = ledger.synced[from..].concat();
        let hits = ledger.compare(&mut engine, &must_be).await;
        assert_eq!(
            hits,
            must_be.len(),
            "blocks that were on disk are lost after {kill} kills"
        );
        if kill % 5 == 0 {
            let all = ledger.all();
            ledger.compare(&mut engine, &all).await;
        }
        drop(engine);
        save_until_killed(&host, &mut ledger, &mut daemon).await;
        host.purge();
        most_bytes = most_bytes.max(host.disk_bytes());
        assert!(
            most_bytes <= CAPACITY_BYTES,
            "{most_bytes} bytes after {kill} kills"
        );
    }
    let saved_bytes: u64 = ledger.bytes.values().map(|bytes| bytes.len() as u64).sum();
    let figures = json!({
        "kills": kills(),
        "saved_bytes": saved_bytes,
        "capacity_bytes": CAPACITY_BYTES,
        "most_disk_bytes": most_bytes,
        "synced_blocks": ledger.synced.iter().map(Vec::len).sum::<usize>(),
        "compared_blocks": ledger.compared,
        "wrong_pages": 0,
        "lost_pages": 0,
    });
    writeln!(std::io::stdout(), "{figures}").unwrap();
    assert!(
        saved_bytes > CAPACITY_BYTES,
        "{saved_bytes} bytes do not fill the disk's part"
    );
    assert!(ledger.compared > 0);
}
