//! A folder with a socket, and clients for it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bytes::Bytes;
use pegaflow_client::{
    EngineLayout, Lookup, Result, SchedulerClient, SchedulerConfig, TransferEnd, WorkerClient, WorkerConfig,
};
use tempfile::TempDir;

use crate::fake::{FakeDaemon, Script};

pub(crate) const HASH_BYTES: u32 = 32;
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

pub(crate) struct Stage {
    _folder: TempDir,
    pub(crate) socket: PathBuf,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("daemon.sock");
        Self {
            _folder: folder,
            socket,
        }
    }

    pub(crate) fn daemon(&self, script: Script) -> FakeDaemon {
        FakeDaemon::start(&self.socket, script)
    }

    /// A scheduler side that waits for slow answers, for tests of what they say.
    pub(crate) fn scheduler(&self) -> SchedulerClient {
        SchedulerClient::with_deadline(self.scheduler_config(), LIMIT).unwrap()
    }

    /// A scheduler side that gives up on answers as soon as an engine does.
    pub(crate) fn impatient_scheduler(&self) -> SchedulerClient {
        SchedulerClient::new(self.scheduler_config()).unwrap()
    }

    pub(crate) fn scheduler_config(&self) -> SchedulerConfig {
        SchedulerConfig {
            socket: self.socket.clone(),
            engine_key: [1; 16],
            engine_id: "engine".to_owned(),
            namespace: [2; 32],
            model: "model".to_owned(),
            workers: 1,
            shards: 1,
        }
    }

    /// A worker with 64 blocks; nothing ever touches the addresses that it names.
    pub(crate) fn worker(&self) -> WorkerClient {
        WorkerClient::new(self.worker_config()).unwrap()
    }

    pub(crate) fn worker_config(&self) -> WorkerConfig {
        let layout = EngineLayout::from_json(
            r#"{"hash_bytes": 32, "groups": [{"group": 0, "num_blocks": 64, "layers": [
                {"name": "l0", "base_address": 4096, "block_stride": 64, "segments": [[0, 32], [32, 32]]}]}]}"#,
        )
        .unwrap();
        let socket = self.socket.clone();
        WorkerConfig {
            socket,
            engine_id: "engine".to_owned(),
            rank: 0,
            shard: 0,
            layout,
        }
    }

    /// A daemon with this script, and a scheduler side that is attached to it.
    pub(crate) fn attached_scheduler(&self, script: Script) -> (FakeDaemon, SchedulerClient) {
        let daemon = self.daemon(script);
        let scheduler = self.scheduler();
        eventually("attached", || scheduler.attached().unwrap());
        (daemon, scheduler)
    }

    /// A daemon with this script, and an impatient scheduler side that is attached to it.
    pub(crate) fn attached_impatient_scheduler(&self, script: Script) -> (FakeDaemon, SchedulerClient) {
        let daemon = self.daemon(script);
        let scheduler = self.impatient_scheduler();
        eventually("attached", || scheduler.attached().unwrap());
        (daemon, scheduler)
    }

    /// A daemon with this script, and a worker that is registered with it.
    pub(crate) fn registered_worker(&self, script: Script) -> (FakeDaemon, WorkerClient) {
        let daemon = self.daemon(script);
        let worker = self.worker();
        worker.identify([1; 16], [2; 32]).unwrap();
        eventually("registered", || worker.attached().unwrap());
        (daemon, worker)
    }
}

/// Waits for a condition.
pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !condition() {
        assert!(Instant::now() < deadline, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// So many block hashes, of which the first byte is `seed`.
pub(crate) fn hashes(seed: u8, blocks: usize) -> Bytes {
    let mut packed = vec![0; blocks * HASH_BYTES as usize];
    packed[0] = seed;
    packed.into()
}

/// One hash, waiting as long as it takes.
pub(crate) fn ask(scheduler: &SchedulerClient, request_id: &str) -> Lookup {
    try_ask(scheduler, request_id).unwrap()
}

pub(crate) fn try_ask(scheduler: &SchedulerClient, request_id: &str) -> Result<Lookup> {
    scheduler.lookup(request_id, hashes(1, 1), HASH_BYTES, LIMIT)
}

pub(crate) fn count(counters: &[(&'static str, u64)], name: &str) -> u64 {
    counters.iter().find(|(known, _)| *known == name).unwrap().1
}

/// The ends of transfers, once there are so many.
pub(crate) fn ends(worker: &WorkerClient, count: usize) -> Vec<TransferEnd> {
    let deadline = Instant::now() + LIMIT;
    let mut ended = Vec::new();
    while ended.len() < count {
        assert!(
            Instant::now() < deadline,
            "only {} transfers of {count} ended",
            ended.len()
        );
        ended.extend(worker.poll().unwrap());
        std::thread::sleep(Duration::from_micros(200));
    }
    ended
}
