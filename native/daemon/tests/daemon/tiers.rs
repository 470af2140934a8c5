//! Blocks that the pool lost and the disk kept: found, waited for, loaded, and given up.

use pegaflow_daemon::DaemonConfig;
use pegaflow_proto::v1::load_response::Outcome;
use pegaflow_proto::v1::lookup_response::State;
use pegaflow_proto::v1::{LookupRequest, LookupResponse, ReleaseRequest};
use serde_json::Value;
use tempfile::TempDir;

use crate::support::engine::{BLOCKS, Engine, Shape, fresh_hashes, lookup_request, packed};
use crate::support::{Daemon, eventually, metrics};

type Hashes = Vec<[u8; 32]>;

/// More blocks than can be fetched one at a time before the first call is answered.
const MANY: u32 = 10 * BLOCKS;

fn with_disk(disk: &TempDir) -> impl FnOnce(&mut DaemonConfig) {
    let path = serde_json::json!([{ "path": disk.path().join("ssd"), "capacity_bytes": 256 << 20 }]);
    |settings| settings.ssd = serde_json::from_value(path).unwrap()
}

/// A daemon with an empty pool over a disk that has all blocks, which come one at a time.
async fn slow_daemon(disk: &TempDir, shape: &Shape) -> (Daemon, Hashes) {
    let daemon = Daemon::start_with(with_disk(disk));
    let mut engine = Engine::start(daemon.socket(), shape).await;
    let hashes = fresh_hashes(MANY as usize);
    for part in hashes.chunks(BLOCKS as usize) {
        engine.save(part, &(0..BLOCKS).collect::<Vec<_>>()).await;
    }
    daemon.stop().await;
    let daemon = Daemon::start_with(|settings| {
        with_disk(disk)(settings);
        settings.ssd_fetch_bytes = 1;
    });
    (daemon, hashes)
}

async fn ask(engine: &mut Engine, request: &LookupRequest) -> LookupResponse {
    engine
        .scheduler
        .rpc
        .lookup(request.clone())
        .await
        .unwrap()
        .into_inner()
}

/// Asks again and again, as clients do; the answer, and how often it was "pending".
pub(crate) async fn wait_for(engine: &mut Engine, request: &LookupRequest) -> (LookupResponse, u32) {
    for pending in 0.. {
        let answer = ask(engine, request).await;
        if answer.state() != State::Pending {
            return (answer, pending);
        }
    }
    unreachable!()
}

/// Asks once, and expects to be told to ask again.
async fn begin(engine: &mut Engine, hashes: &Hashes) -> LookupRequest {
    let request = lookup_request(engine.scheduler.id(), packed(hashes));
    let answer = ask(engine, &request).await;
    assert_eq!((answer.state(), answer.lease_id), (State::Pending, 0));
    request
}

/// Waits until nothing waits and nothing is held; what the ssd tier then says.
async fn idle(daemon: &Daemon) -> Value {
    let is_idle = async || {
        let status = daemon.status().await;
        let fetches = &status["ssd"]["fetches"];
        fetches["lookups"] == 0
            && fetches["in_flight_bytes"] == 0
            && fetches["queued_bytes"] == 0
            && status["pool"]["pinned_blocks"] == 0
            && status["pool"]["in_flight_pages"] == 0
            && status["leases"]["held"] == 0
    };
    eventually("nothing waits and nothing is held", is_idle).await;
    daemon.status().await["ssd"].take()
}

#[tokio::test]
async fn what_a_purged_daemon_had_is_loaded_from_ssd_by_the_next() {
    let disk = TempDir::new().unwrap();
    let shape = Shape::with_workers(2);
    let daemon = Daemon::start_with(with_disk(&disk));
    let mut saver = Engine::start(daemon.socket(), &shape).await;
    let hashes = fresh_hashes(20);
    saver.save(&hashes, &(0..20).collect::<Vec<_>>()).await;
    daemon.stop().await;

    let daemon = Daemon::start_with(with_disk(&disk));
    let mut loader = Engine::start(daemon.socket(), &shape).await;
    let mut wanted = hashes.clone();
    wanted.extend(fresh_hashes(3));
    let request = lookup_request(loader.scheduler.id(), packed(&wanted));
    let (found, _) = wait_for(&mut loader, &request).await;
    assert_eq!(
        (found.state(), found.memory_blocks, found.ssd_blocks),
        (State::Ready, 0, 20)
    );
    for (worker, saved) in loader.workers.iter_mut().zip(&saver.workers) {
        let answer = worker
            .load(found.lease_id, 0, &(40..60).collect::<Vec<_>>())
            .await
            .unwrap();
        assert_eq!(answer.outcome(), Outcome::Loaded, "{}", answer.message);
        for block in 0..20 {
            assert!(worker.memory.block(40 + block) == saved.memory.block(block));
        }
    }
    // Each block counts once, whatever was asked how often.
    let blocks = daemon.status().await["blocks"].take();
    assert_eq!(
        blocks,
        serde_json::json!({"requested": 23, "memory": 0, "ssd": 20, "remote": 0, "miss": 3})
    );
    // The next lookup finds them in memory.
    assert_eq!(loader.lookup(&hashes).await.memory_blocks, 20);
    let scraped = metrics(&daemon.ready.http_addr);
    assert_eq!(scraped["pegaflow_fetch_blocks_total{result=\"fetched\"}"], 20.0);
}

#[tokio::test]
async fn a_lookup_is_told_to_ask_again_until_all_is_there() {
    let disk = TempDir::new().unwrap();
    let shape = Shape::new();
    let (daemon, hashes) = slow_daemon(&disk, &shape).await;
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let request = begin(&mut engine, &hashes).await;
    assert_eq!(daemon.status().await["blocks"]["requested"], 0);
    let (found, _) = wait_for(&mut engine, &request).await;
    assert_eq!(found.ssd_blocks, MANY);
    let blocks = daemon.status().await["blocks"].take();
    assert_eq!(
        (&blocks["requested"], &blocks["ssd"]),
        (&MANY.into(), &MANY.into())
    );
}

#[tokio::test]
async fn a_lookup_that_is_given_back_ends() {
    let disk = TempDir::new().unwrap();
    let shape = Shape::new();
    let (daemon, hashes) = slow_daemon(&disk, &shape).await;
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let request = begin(&mut engine, &hashes).await;
    let release = ReleaseRequest {
        session_id: request.session_id,
        lease_ids: Vec::new(),
        lookup_ids: vec![request.lookup_id],
    };
    engine.scheduler.rpc.release(release).await.unwrap();
    let ssd = idle(&daemon).await;
    assert!(ssd["fetches"]["cancelled_blocks"].as_u64().unwrap() > 0, "{ssd}");
    assert_eq!(daemon.status().await["blocks"]["requested"], 0);
}

#[tokio::test]
async fn the_lookups_of_a_session_end_with_it() {
    let disk = TempDir::new().unwrap();
    let shape = Shape::new();
    let (daemon, hashes) = slow_daemon(&disk, &shape).await;
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    begin(&mut engine, &hashes).await;
    begin(&mut engine, &hashes).await;
    drop(engine);
    idle(&daemon).await;
}

#[tokio::test]
async fn a_lookup_that_nobody_asks_for_again_ends() {
    let disk = TempDir::new().unwrap();
    let shape = Shape::new();
    let (daemon, hashes) = slow_daemon(&disk, &shape).await;
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let request = begin(&mut engine, &hashes).await;
    idle(&daemon).await;
    // Asked again all the same, it is looked up anew.
    let (found, _) = wait_for(&mut engine, &request).await;
    assert_eq!(found.memory_blocks + found.ssd_blocks, MANY);
}

#[tokio::test]
async fn another_question_under_the_same_number_replaces_the_first() {
    let disk = TempDir::new().unwrap();
    let shape = Shape::new();
    let (daemon, hashes) = slow_daemon(&disk, &shape).await;
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let first = begin(&mut engine, &hashes).await;
    let second = LookupRequest {
        hashes: packed(&hashes[MANY as usize / 2..]),
        ..first
    };
    let (found, _) = wait_for(&mut engine, &second).await;
    assert_eq!(found.memory_blocks + found.ssd_blocks, MANY / 2);
}

#[tokio::test]
async fn an_engine_that_cannot_ask_again_is_answered_from_memory() {
    let disk = TempDir::new().unwrap();
    let shape = Shape::new();
    let (daemon, hashes) = slow_daemon(&disk, &shape).await;
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let request = LookupRequest {
        lookup_id: 0,
        ..lookup_request(engine.scheduler.id(), packed(&hashes))
    };
    let answer = ask(&mut engine, &request).await;
    assert_eq!((answer.state(), answer.lease_id), (State::Ready, 0));
}

#[tokio::test]
async fn a_start_may_warm_the_pool() {
    let disk = TempDir::new().unwrap();
    let shape = Shape::new();
    let (daemon, hashes) = slow_daemon(&disk, &shape).await;
    daemon.stop().await;
    let daemon = Daemon::start_with(|settings| {
        with_disk(&disk)(settings);
        settings.warm_on_start = true;
    });
    eventually("the pool is warm", async || {
        daemon.status().await["ssd"]["warming"]["state"] == "done"
    })
    .await;
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    assert_eq!(engine.lookup(&hashes).await.memory_blocks, MANY);
}
