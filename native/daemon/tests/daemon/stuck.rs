//! Operators reach a daemon whose calls are stuck, and can end it.

use rustix::process::Signal;

use crate::support::{Child, config, eventually, get};

#[tokio::test]
async fn health_metrics_and_signals_work_while_no_call_is_answered() {
    let directory = tempfile::tempdir().unwrap();
    let settings = serde_json::to_string(&config(directory.path())).unwrap();
    let mut daemon = Child::start("stuck-daemon", &settings);
    let http = daemon.said["http_addr"].as_str().unwrap().to_owned();

    assert_eq!(get(&http, "/healthz").json()["status"], "alive");
    assert!(get(&http, "/metrics").body.contains("pegaflow_build_info"));
    assert_eq!(get(&http, "/v1/status").json()["boot_id"], daemon.said["boot_id"]);

    daemon.signal(Signal::TERM);
    eventually("the first signal drains", async || {
        get(&http, "/readyz").json()["state"] == "draining"
    })
    .await;
    assert_eq!(get(&http, "/readyz").code, 503);
    assert_eq!(get(&http, "/healthz").code, 200);
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.wait().code(), Some(1), "the second signal ends it at once");

    // What it left is no obstacle.
    Child::start("daemon", &settings);
}
