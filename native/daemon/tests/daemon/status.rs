//! The status document says what traffic did.

use std::process;

use crate::support::engine::{Engine, Shape, fresh_hashes};
use crate::support::{Daemon, get};

#[tokio::test]
async fn it_matches_the_traffic() {
    let daemon = Daemon::start();
    let shape = Shape::with_workers(2);
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let hashes = fresh_hashes(5);
    engine.save(&hashes[..3], &[0, 1, 2]).await;
    let lease = engine.lookup(&hashes).await.lease_id;
    engine.workers[0].load(lease, 1, &[9, 8]).await.unwrap();

    let status = daemon.status().await;
    let page_bytes = engine.workers[0].memory.page_bytes();
    assert_eq!(status["schema"], "pegaflow.status/1");
    assert_eq!(status["pid"], process::id());
    assert_eq!(status["boot_id"], daemon.ready.boot_id);
    assert_eq!(
        status["blocks"],
        serde_json::json!({"requested": 5, "memory": 3, "ssd": 0, "remote": 0, "miss": 2})
    );
    assert_eq!(
        (&status["saves"]["transfers"], &status["saves"]["blocks"]),
        (&2.into(), &6.into())
    );
    assert_eq!(status["saves"]["bytes"], 6 * page_bytes);
    assert_eq!(
        (&status["loads"]["transfers"], &status["loads"]["blocks"]),
        (&1.into(), &2.into())
    );
    assert_eq!(status["loads"]["bytes"], 2 * page_bytes);
    assert!(status["loads"]["p99_ms"].as_f64().unwrap() > 0.0);
    assert_eq!(
        (&status["leases"]["held"], &status["leases"]["blocks"]),
        (&1.into(), &3.into())
    );
    assert!(status["leases"]["oldest_s"].as_f64().unwrap() >= 0.0);

    let namespace: String = shape.namespace.iter().map(|byte| format!("{byte:02x}")).collect();
    let shown = &status["engines"][0];
    assert_eq!(
        (&shown["engine_id"], &shown["model"]),
        (&"test-engine".into(), &"random-bytes".into())
    );
    assert_eq!(
        (&shown["namespace"], &shown["complete"]),
        (&namespace.as_str().into(), &true.into())
    );
    assert_eq!(
        (&shown["scheduler_pid"], &shown["workers"]),
        (&process::id().into(), &2.into())
    );
    let cached = &status["namespaces"][0];
    assert_eq!(
        (&cached["namespace"], &cached["blocks"]),
        (&namespace.as_str().into(), &3.into())
    );
    assert_eq!(
        (&cached["hits"], &cached["misses"], &cached["admissions"]),
        (&3.into(), &2.into(), &3.into())
    );
    assert_eq!(status["config"]["pool_bytes"], 64 << 20);
}

#[tokio::test]
async fn it_is_the_same_document_over_http() {
    let daemon = Daemon::start();
    let over_http = get(&daemon.ready.http_addr, "/v1/status").json();
    let over_socket = daemon.status().await;
    let keys = |document: &serde_json::Value| -> Vec<String> {
        document.as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys(&over_http), keys(&over_socket));
    assert_eq!(over_http["pool"], over_socket["pool"]);
}
