//! An engine that is killed leaves nothing, even where its connections stay open.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::support::{Child, Daemon, eventually_within, metrics};

/// The failure contract's bound.
const BOUND: Duration = Duration::from_secs(5);

#[tokio::test]
async fn its_leases_registrations_and_grant_file_are_gone() {
    let daemon = Daemon::start();
    let mut engine = Child::start("engine", daemon.socket().to_str().unwrap());
    let grant_file = engine.said["grant_file"].as_str().unwrap().to_owned();
    assert_ne!(engine.said["lease"], 0);
    assert!(Path::new(&grant_file).exists());
    let status = daemon.status().await;
    assert_eq!(status["leases"]["held"], 1);
    assert_eq!(status["engines"][0]["worker_pids"][0], engine.pid());
    assert_eq!(metrics(&daemon.ready.http_addr)["pegaflow_registrations"], 1.0);

    engine.kill();
    eventually_within("the daemon forgets the engine", BOUND, async || {
        let status = daemon.status().await;
        status["leases"]["held"] == 0 && status["engines"].as_array().unwrap().is_empty()
    })
    .await;
    let metrics = metrics(&daemon.ready.http_addr);
    assert_eq!(metrics["pegaflow_registrations"], 0.0);
    assert_eq!(metrics["pegaflow_engine_sessions"], 0.0);
    assert_eq!(
        metrics["pegaflow_leases_ended_total{reason=\"owner_ended\"}"],
        1.0
    );
    assert_eq!(
        metrics["pegaflow_engine_sessions_ended_total{reason=\"process_ended\"}"],
        2.0
    );
    assert!(!fs::exists(&grant_file).unwrap());
    assert_eq!(daemon.status().await["pool"]["pinned_blocks"], 0);
    engine.end_keepers();
}
