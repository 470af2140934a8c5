//! Memory that cannot be copied fails its own transfer.

use pegaflow_proto::v1::load_response::Outcome;
use tonic::Code;

use crate::support::engine::{BLOCKS, Engine, Memory, Session, Shape, Worker, connect, fresh_hashes};
use crate::support::{Daemon, metrics};

/// Bytes of a segment that make a layer so large that its memory is unmapped when it is freed.
const SEGMENT_BYTES: usize = (40 << 20) / (2 * BLOCKS as usize);

#[tokio::test]
async fn memory_that_is_gone_fails_saves_and_loads_and_nothing_else() {
    let daemon = Daemon::start_with(|settings| settings.pool_bytes = 512 << 20);
    let shape = Shape::new();
    let scheduler = Session::attach(connect(daemon.socket()).await, shape.attach_scheduler())
        .await
        .unwrap();
    let memory = Memory::with_segments(SEGMENT_BYTES);
    let worker = Worker::with_memory(daemon.socket(), &shape, 0, 0, memory)
        .await
        .unwrap();
    let mut engine = Engine {
        scheduler,
        workers: vec![worker],
    };
    let hashes = fresh_hashes(6);
    engine.save(&hashes[..2], &[0, 1]).await;
    let lease = engine.lookup(&hashes).await.lease_id;

    engine.workers[0].memory = Memory::random();
    let worker = &mut engine.workers[0];
    let grant = worker.grants.issue().unwrap().unwrap();
    let request = worker.save_request(&hashes, &[0, 1, 2, 3, 4, 5], &grant);
    let error = worker.session.rpc.save(request).await.unwrap_err();
    assert_eq!(error.code(), Code::Internal);
    assert!(error.message().contains("process"), "{}", error.message());
    let answer = worker.load(lease, 0, &[5, 6]).await.unwrap();
    assert_eq!(answer.outcome(), Outcome::Failed);
    assert!(!answer.message.is_empty());

    assert_eq!(
        engine.lookup(&hashes).await.memory_blocks,
        2,
        "what was cached stays, what failed is not"
    );
    let status = daemon.status().await;
    assert_eq!(status["pool"]["in_flight_pages"], 0);
    assert_eq!(status["leases"]["held"], 1, "only that of the last lookup");
    let metrics = metrics(&daemon.ready.http_addr);
    let saved = |result: &str| metrics[&format!("pegaflow_save_blocks_total{{result=\"{result}\"}}")];
    assert_eq!(
        (saved("saved"), saved("present"), saved("failed")),
        (2.0, 2.0, 4.0)
    );
    assert_eq!(metrics["pegaflow_save_failures_total"], 1.0);
    assert_eq!(metrics["pegaflow_load_failures_total"], 1.0);
    assert_eq!(metrics["pegaflow_load_blocks_total{result=\"failed\"}"], 2.0);
    assert_eq!(
        metrics["pegaflow_save_in_flight"] + metrics["pegaflow_load_in_flight"],
        0.0
    );
}
