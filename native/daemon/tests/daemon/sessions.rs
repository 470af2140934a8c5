//! Engines are made up of sessions that fit together.

use std::path::Path;

use pegaflow_proto::v1::control_client::ControlClient;
use pegaflow_proto::v1::lookup_response::State;
use pegaflow_proto::v1::{ReleaseRequest, RenewRequest, StopRequest};
use tonic::Code;

use crate::support::engine::{
    Engine, Memory, Session, Shape, Worker, connect, fresh_hashes, lookup_request, packed,
};
use crate::support::{Daemon, eventually};

async fn engines(daemon: &Daemon) -> usize {
    daemon.status().await["engines"].as_array().unwrap().len()
}

#[tokio::test]
async fn an_engine_is_incomplete_until_all_its_workers_have_registered() {
    let daemon = Daemon::start();
    let shape = Shape::with_workers(2);
    let socket = daemon.socket();
    // In any order: here a worker comes before the scheduler side.
    let _first = Worker::start(socket, &shape, 1, 1).await;
    let scheduler = Session::attach(connect(socket).await, shape.attach_scheduler())
        .await
        .unwrap();
    let mut rpc = scheduler.rpc.clone();
    let request = lookup_request(scheduler.id(), packed(&fresh_hashes(3)));
    assert_eq!(
        rpc.lookup(request.clone()).await.unwrap().get_ref().state(),
        State::EngineIncomplete
    );
    assert_eq!(daemon.status().await["engines"][0]["complete"], false);
    let _second = Worker::start(socket, &shape, 0, 0).await;
    assert_eq!(rpc.lookup(request).await.unwrap().get_ref().state(), State::Ready);
    assert_eq!(daemon.status().await["engines"][0]["complete"], true);
}

#[tokio::test]
async fn the_first_workers_save_waits_for_the_others() {
    let daemon = Daemon::start();
    let shape = Shape::with_workers(2);
    let socket = daemon.socket();
    let _scheduler = Session::attach(connect(socket).await, shape.attach_scheduler())
        .await
        .unwrap();
    let mut first = Worker::start(socket, &shape, 0, 0).await;
    let hashes = fresh_hashes(2);
    let (answer, _second) = tokio::join!(first.save(&hashes, &[0, 1]), Worker::start(socket, &shape, 1, 1));
    assert_eq!(answer.saved, 2);
}

#[tokio::test]
async fn a_newer_session_replaces_the_older_of_its_place() {
    let daemon = Daemon::start();
    let shape = Shape::new();
    let mut old = Engine::start(daemon.socket(), &shape).await;
    let hashes = fresh_hashes(2);
    old.save(&hashes, &[0, 1]).await;
    old.lookup(&hashes).await;
    let old_file = old.workers[0].registered.grant_file.clone();

    let mut new = Engine::start(daemon.socket(), &shape).await;
    assert!(
        old.scheduler.events.message().await.unwrap().is_none(),
        "the older stream ends"
    );
    assert_eq!(new.lookup(&hashes).await.memory_blocks, 2);
    let error = old
        .scheduler
        .rpc
        .lookup(lookup_request(old.scheduler.id(), packed(&hashes)))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Code::NotFound);
    assert!(!Path::new(&old_file).exists());
    assert_eq!(engines(&daemon).await, 1);
    assert_eq!(daemon.status().await["leases"]["held"], 1);
}

#[tokio::test]
async fn a_layout_that_the_namespace_does_not_have_is_refused_with_both_values() {
    let daemon = Daemon::start();
    let shape = Shape::new();
    let mut first = Engine::start(daemon.socket(), &shape).await;
    let twin = shape.twin();
    let scheduler = Session::attach(connect(daemon.socket()).await, twin.attach_scheduler())
        .await
        .unwrap();
    let other = Memory::with_segments(4_000);
    let (own_bytes, other_bytes) = (first.workers[0].memory.page_bytes(), other.page_bytes());
    let error = Worker::with_memory(daemon.socket(), &twin, 0, 0, other)
        .await
        .err()
        .unwrap();
    assert_eq!(error.code(), Code::FailedPrecondition);
    for bytes in [own_bytes, other_bytes] {
        assert!(
            error.message().contains(&bytes.to_string()),
            "{}",
            error.message()
        );
    }

    let hashes = fresh_hashes(1);
    let request = lookup_request(scheduler.id(), packed(&hashes));
    // The refused worker's session is gone, or still there: either way there are no hits.
    let answer = scheduler.rpc.clone().lookup(request).await;
    assert!(answer.map_or_else(
        |error| error.code() == Code::FailedPrecondition,
        |answer| { answer.get_ref().state() == State::EngineIncomplete }
    ));
    first.save(&hashes, &[0]).await;
    assert_eq!(first.lookup(&hashes).await.memory_blocks, 1);
}

#[tokio::test]
async fn workers_that_do_not_fit_their_scheduler_side_are_refused() {
    let daemon = Daemon::start();
    let shape = Shape::new();
    let socket = daemon.socket();
    let _scheduler = Session::attach(connect(socket).await, shape.attach_scheduler())
        .await
        .unwrap();
    let refused = async |shape: Shape, rank, shard| {
        let error = Worker::with_memory(socket, &shape, rank, shard, Memory::random())
            .await
            .err()
            .unwrap();
        assert_eq!(error.code(), Code::FailedPrecondition);
        error.message().to_owned()
    };
    assert!(refused(shape.clone(), 1, 0).await.contains("rank 1"));
    eventually("the worker is gone", async || {
        engines(&daemon).await == 1 && workers(&daemon).await == 0
    })
    .await;
    assert!(refused(shape.clone(), 0, 3).await.contains("shard 3"));
    eventually("the worker is gone", async || workers(&daemon).await == 0).await;
    let other = Shape {
        namespace: rand::random(),
        ..shape.clone()
    };
    assert!(refused(other, 0, 0).await.contains("namespace"));
    eventually("the worker is gone", async || workers(&daemon).await == 0).await;
    Worker::start(socket, &shape, 0, 0).await;
}

async fn workers(daemon: &Daemon) -> usize {
    daemon.status().await["engines"][0]["worker_pids"]
        .as_array()
        .unwrap()
        .len()
}

#[tokio::test]
async fn a_shard_may_be_held_by_several_workers() {
    let daemon = Daemon::start();
    let shape = Shape::with_copies(2);
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let hashes = fresh_hashes(4);
    // Copies of one shard: each worker saves some blocks, and both load all of them.
    engine.workers[0].save(&hashes[..2], &[0, 1]).await;
    engine.workers[1].save(&hashes[2..], &[2, 3]).await;
    let found = engine.lookup(&hashes).await;
    assert_eq!(found.memory_blocks, 4);
    let saved: Vec<_> = (0..4)
        .map(|block| engine.workers[block as usize / 2].memory.block(block))
        .collect();
    for worker in &mut engine.workers {
        worker.load(found.lease_id, 0, &[40, 41, 42, 43]).await.unwrap();
        let loaded: Vec<_> = (40..44).map(|block| worker.memory.block(block)).collect();
        assert!(loaded == saved);
    }
}

#[tokio::test]
async fn a_worker_registers_again_in_place_of_its_earlier_registration() {
    let daemon = Daemon::start();
    let shape = Shape::new();
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let worker = &mut engine.workers[0];
    let old_file = worker.registered.grant_file.clone();
    let request =
        crate::support::engine::register_request(worker.session.id(), &shape.namespace, &worker.memory);
    let again = worker.session.rpc.register(request).await.unwrap().into_inner();
    assert_ne!(again.registration_id, worker.registered.registration_id);
    assert!(!Path::new(&old_file).exists());
    assert!(Path::new(&again.grant_file).exists());
}

#[tokio::test]
async fn every_answer_names_the_daemon_s_start() {
    let daemon = Daemon::start();
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let hashes = fresh_hashes(1);
    let worker = &mut engine.workers[0];
    let mut named = vec![
        worker.session.opened.boot_id,
        worker.registered.boot_id,
        worker.save(&hashes, &[0]).await.boot_id,
    ];
    let found = engine.lookup(&hashes).await;
    let loaded = engine.workers[0].load(found.lease_id, 0, &[1]).await.unwrap();
    let session_id = engine.scheduler.id();
    let renewal = RenewRequest {
        session_id,
        lease_ids: vec![],
        breaker_openings: 0,
    };
    let release = ReleaseRequest {
        session_id,
        lease_ids: vec![],
        lookup_ids: Vec::new(),
    };
    let renewed = engine.scheduler.rpc.renew(renewal).await.unwrap();
    let released = engine.scheduler.rpc.release(release).await.unwrap();
    let stop = StopRequest { purge: true };
    let stopped = ControlClient::new(connect(daemon.socket()).await)
        .stop(stop)
        .await
        .unwrap();
    named.extend([found.boot_id, loaded.boot_id]);
    named.extend([renewed.get_ref().boot_id, released.get_ref().boot_id]);
    named.push(stopped.get_ref().boot_id);
    let boot_id = engine.scheduler.opened.boot_id;
    assert_ne!(boot_id, 0);
    assert!(
        named.iter().all(|named| *named == boot_id),
        "{boot_id}: {named:?}"
    );
}
