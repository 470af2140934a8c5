//! What operators reach over HTTP.

use std::time::{Duration, Instant};

use crate::support::{Daemon, eventually, get, request};

#[tokio::test]
async fn health_answers_within_milliseconds() {
    let daemon = Daemon::start();
    let best = (0..20)
        .map(|_| {
            let began = Instant::now();
            assert_eq!(get(&daemon.ready.http_addr, "/healthz").code, 200);
            began.elapsed()
        })
        .min()
        .unwrap();
    assert!(best < Duration::from_millis(20), "{best:?}");
}

#[tokio::test]
async fn readiness_follows_the_pool() {
    let daemon = Daemon::start();
    eventually("the daemon is ready", async || {
        get(&daemon.ready.http_addr, "/readyz").code == 200
    })
    .await;
    let readiness = get(&daemon.ready.http_addr, "/readyz").json();
    assert_eq!(
        (&readiness["state"], &readiness["ready_percent"]),
        (&"ready".into(), &100.0.into())
    );
}

#[tokio::test]
async fn unknown_paths_and_methods_are_answered_with_json() {
    let daemon = Daemon::start();
    let answer = get(&daemon.ready.http_addr, "/no/such/path");
    assert_eq!(answer.code, 404);
    assert!(answer.json()["error"].as_str().unwrap().contains("/no/such/path"));
    let answer = request(&daemon.ready.http_addr, "POST", "/metrics");
    assert_eq!(answer.code, 405);
    assert!(answer.json()["error"].as_str().unwrap().contains("GET"));
}

#[tokio::test]
async fn metrics_have_prometheus_content_type() {
    let daemon = Daemon::start();
    let answer = get(&daemon.ready.http_addr, "/metrics");
    assert!(
        answer.head.contains("content-type: text/plain; version=0.0.4"),
        "{}",
        answer.head
    );
    assert!(answer.body.contains("# TYPE pegaflow_leases gauge"));
}
