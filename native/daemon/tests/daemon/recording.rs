//! Recordings of lookups that begin and end while the daemon serves.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use tonic::Code;

use crate::operations::operate;
use crate::support::engine::{Engine, Shape, fresh_hashes};
use crate::support::{Daemon, metrics};

#[tokio::test]
async fn it_has_what_was_looked_up_while_it_was_asked_for() {
    let place = TempDir::new().unwrap();
    let directory = place.path().join("lookups");
    let daemon = Daemon::start();
    let mut engine = Engine::start(daemon.socket(), &Shape::with_workers(1)).await;
    let record = json!({"operation": "trace-record", "directory": directory, "size_bytes": 1 << 20});
    engine.lookup(&fresh_hashes(3)).await;
    assert_eq!(daemon.status().await["recording"], Value::Null);
    let begun = operate(&daemon, &record).await.unwrap();
    assert_eq!(begun["size_bytes"], 1 << 20);
    engine.lookup(&fresh_hashes(3)).await;
    engine.lookup(&fresh_hashes(3)).await;
    assert_eq!(
        daemon.status().await["recording"]["directory"],
        begun["directory"]
    );
    assert!(metrics(&daemon.ready.http_addr).contains_key("pegaflow_recorded_lookups_total"));
    let ended = operate(&daemon, &json!({"operation": "trace-stop"}))
        .await
        .unwrap();
    assert_eq!((&ended["lookups"], &ended["left_out"]), (&json!(2), &json!(0)));
    assert_eq!(ended["error"], Value::Null);
    engine.lookup(&fresh_hashes(3)).await;
    assert_eq!(daemon.status().await["recording"], Value::Null);
    let files = fs::read_dir(&directory).unwrap().count();
    assert_eq!(files, 2, "a recording and the key");
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_with_what_can() {
    let place = TempDir::new().unwrap();
    let daemon = Daemon::start();
    let record = |directory: Value, size: Value| json!({"operation": "trace-record", "directory": directory, "size_bytes": size});
    let stop = json!({"operation": "trace-stop"});
    let here = json!(place.path());
    fs::write(place.path().join("file"), "").unwrap();
    for (operation, code, said) in [
        (stop.clone(), Code::FailedPrecondition, "trace record"),
        (
            record(here.clone(), json!(1000)),
            Code::InvalidArgument,
            "1048576",
        ),
        (
            record(json!("lookups"), Value::Null),
            Code::InvalidArgument,
            "relative",
        ),
    ] {
        let refused = operate(&daemon, &operation).await.unwrap_err();
        assert_eq!(refused.code(), code, "{refused}");
        assert!(refused.message().contains(said), "{refused}");
    }
    let in_a_file = record(json!(place.path().join("file/lookups")), Value::Null);
    let refused = operate(&daemon, &in_a_file).await.unwrap_err();
    assert!(refused.message().contains("file/lookups"), "{refused}");
    operate(&daemon, &record(here.clone(), Value::Null))
        .await
        .unwrap();
    let twice = operate(&daemon, &record(here, Value::Null)).await.unwrap_err();
    assert_eq!(twice.code(), Code::FailedPrecondition);
    assert!(twice.message().contains("--stop"), "{twice}");
    operate(&daemon, &stop).await.unwrap();
}
