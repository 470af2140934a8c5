//! The metrics say exactly what scripted traffic did.

use std::time::Duration;

use pegaflow_proto::v1::ReleaseRequest;
use tokio::time::timeout;

use crate::support::engine::{Engine, Session, Shape, Worker, connect, fresh_hashes, lookup_request};
use crate::support::{Daemon, eventually, metrics};

#[tokio::test]
async fn they_add_up_for_scripted_traffic() {
    let daemon = Daemon::start();
    let shape = Shape::with_workers(2);
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let namespace: String = shape
        .namespace
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let hashes = fresh_hashes(10);

    engine.lookup(&hashes).await;
    engine.save(&hashes[..6], &[0, 1, 2, 3, 4, 5]).await;
    engine.workers[0].save(&hashes[..6], &[0, 1, 2, 3, 4, 5]).await;
    let loaded = engine.lookup(&hashes).await.lease_id;
    let released = engine.lookup(&hashes[..4]).await.lease_id;
    for worker in &mut engine.workers {
        worker.load(loaded, 0, &[10, 11, 12, 13, 14, 15]).await.unwrap();
    }
    let session_id = engine.scheduler.id();
    engine
        .scheduler
        .rpc
        .release(ReleaseRequest {
            session_id,
            lease_ids: vec![released],
            lookup_ids: Vec::new(),
        })
        .await
        .unwrap();
    engine.workers[1].load(released, 0, &[20]).await.unwrap();
    engine
        .scheduler
        .rpc
        .lookup(lookup_request(1, bytes::Bytes::new()))
        .await
        .unwrap_err();

    let metrics = metrics(&daemon.ready.http_addr);
    let value = |name: &str| {
        *metrics
            .get(name)
            .unwrap_or_else(|| panic!("{name} is not in {metrics:#?}"))
    };
    let tier = |tier: &str| {
        value(&format!(
            "pegaflow_cache_tier_block_requests_total{{tier=\"{tier}\",namespace=\"{namespace}\"}}"
        ))
    };
    let requested = value(&format!(
        "pegaflow_cache_blocks_requested_total{{namespace=\"{namespace}\"}}"
    ));
    assert_eq!(
        (tier("memory"), tier("ssd"), tier("remote"), tier("miss")),
        (10.0, 0.0, 0.0, 14.0)
    );
    assert_eq!(requested, 24.0);
    let of_namespace = |name: &str| value(&format!("{name}{{namespace=\"{namespace}\"}}"));
    assert_eq!(of_namespace("pegaflow_cache_block_hits_total"), 10.0);
    assert_eq!(of_namespace("pegaflow_cache_block_misses_total"), 14.0);
    assert_eq!(of_namespace("pegaflow_cache_block_insertions_total"), 6.0);
    assert_eq!(of_namespace("pegaflow_cache_resident_blocks"), 6.0);
    assert_eq!(of_namespace("pegaflow_cache_block_evictions_total"), 0.0);

    let page_bytes = engine.workers[0].memory.page_bytes() as f64;
    assert_eq!(value("pegaflow_save_blocks_total{result=\"saved\"}"), 12.0);
    assert_eq!(value("pegaflow_save_blocks_total{result=\"present\"}"), 6.0);
    assert_eq!(value("pegaflow_save_bytes_total"), 12.0 * page_bytes);
    assert_eq!(value("pegaflow_save_duration_seconds_count"), 3.0);
    assert_eq!(value("pegaflow_save_failures_total"), 0.0);
    assert_eq!(value("pegaflow_load_blocks_total{result=\"loaded\"}"), 12.0);
    assert_eq!(value("pegaflow_load_blocks_total{result=\"lease_ended\"}"), 1.0);
    assert_eq!(value("pegaflow_load_bytes_total"), 12.0 * page_bytes);
    assert_eq!(value("pegaflow_load_duration_seconds_count"), 2.0);
    assert_eq!(value("pegaflow_load_failures_total"), 1.0);
    assert_eq!(
        value("pegaflow_save_in_flight") + value("pegaflow_load_in_flight"),
        0.0
    );

    assert_eq!(value("pegaflow_leases"), 0.0);
    assert_eq!(value("pegaflow_leases_granted_total"), 2.0);
    assert_eq!(value("pegaflow_leases_ended_total{reason=\"loaded\"}"), 1.0);
    assert_eq!(value("pegaflow_leases_ended_total{reason=\"released\"}"), 1.0);
    assert_eq!(value("pegaflow_engines{state=\"complete\"}"), 1.0);
    assert_eq!(value("pegaflow_engine_sessions"), 3.0);
    assert_eq!(value("pegaflow_registrations"), 2.0);
    assert_eq!(
        value("pegaflow_rpc_requests_total{method=\"Lookup\",status=\"ok\"}"),
        3.0
    );
    assert_eq!(
        value("pegaflow_rpc_requests_total{method=\"Lookup\",status=\"not_found\"}"),
        1.0
    );
    assert_eq!(
        value("pegaflow_rpc_duration_seconds_count{method=\"Lookup\"}"),
        4.0
    );
    assert_eq!(value("pegaflow_lookup_duration_seconds_count"), 3.0);
    let build = format!(
        "pegaflow_build_info{{version=\"{}\",boot_id=\"{}\"}}",
        pegaflow_daemon::VERSION,
        daemon.ready.boot_id
    );
    assert_eq!(value(&build), 1.0);
    assert_eq!(
        value("pegaflow_pool_capacity_bytes"),
        daemon.ready.pool_bytes as f64
    );
}

#[tokio::test]
async fn latency_buckets_begin_at_fifty_microseconds_and_end_with_all() {
    let daemon = Daemon::start();
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    engine.lookup(&fresh_hashes(1)).await;
    let metrics = metrics(&daemon.ready.http_addr);
    let buckets: Vec<_> = metrics
        .iter()
        .filter(|(name, _)| name.starts_with("pegaflow_lookup_duration_seconds_bucket"))
        .collect();
    assert!(
        buckets
            .iter()
            .any(|(name, _)| name.contains("le=\"5e-05\"") || name.contains("le=\"0.00005\"")),
        "{buckets:?}"
    );
    assert_eq!(
        metrics["pegaflow_lookup_duration_seconds_bucket{le=\"+Inf\"}"],
        1.0
    );
}

#[tokio::test]
async fn a_call_that_its_caller_gives_up_is_counted_and_leaves_nothing() {
    let daemon = Daemon::start();
    let shape = Shape::with_workers(2);
    // The save waits for the second worker, which never comes.
    let _scheduler = Session::attach(connect(daemon.socket()).await, shape.attach_scheduler())
        .await
        .unwrap();
    let mut worker = Worker::start(daemon.socket(), &shape, 0, 0).await;
    let given_up = timeout(Duration::from_millis(50), worker.save(&fresh_hashes(1), &[0])).await;
    assert!(given_up.is_err());
    eventually("the call is counted", async || {
        metrics(&daemon.ready.http_addr)
            .contains_key("pegaflow_rpc_requests_total{method=\"Save\",status=\"cancelled\"}")
    })
    .await;
    assert_eq!(metrics(&daemon.ready.http_addr)["pegaflow_save_in_flight"], 0.0);
}
