//! A path whose directory is taken away while the daemon serves, and put back.

use std::fs;
use std::time::Duration;

use pegaflow_proto::v1::load_response::Outcome;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::operations::operate;
use crate::support::engine::{Engine, Shape, fresh_hashes, lookup_request, packed};
use crate::support::{Daemon, eventually_within, get, metrics};
use crate::tiers::wait_for;

/// A path that fails is tried again after at most 30 s.
const PATIENCE: Duration = Duration::from_secs(120);
const BLOCKS: [u32; 4] = [0, 1, 2, 3];

/// What `/readyz` says, which has to be served.
fn readiness(daemon: &Daemon) -> Value {
    let answer = get(&daemon.ready.http_addr, "/readyz");
    assert_eq!(answer.code, 200, "{}", answer.body);
    answer.json()
}

/// Saves fresh blocks and loads them from memory again.
async fn save_and_load(engine: &mut Engine) -> Vec<[u8; 32]> {
    let hashes = fresh_hashes(BLOCKS.len());
    engine.save(&hashes, &BLOCKS).await;
    let request = lookup_request(engine.scheduler.id(), packed(&hashes));
    let (found, _) = wait_for(engine, &request).await;
    assert_eq!((found.memory_blocks, found.ssd_blocks), (4, 0));
    let worker = &mut engine.workers[0];
    let loaded = worker.load(found.lease_id, 0, &[10, 11, 12, 13]).await.unwrap();
    assert_eq!(loaded.outcome(), Outcome::Loaded, "{loaded:?}");
    for block in BLOCKS {
        assert!(worker.memory.block(block) == worker.memory.block(block + 10));
    }
    hashes
}

#[tokio::test]
async fn it_degrades_the_daemon_until_it_is_back_and_memory_serves_meanwhile() {
    let disk = TempDir::new().unwrap();
    let (path, away) = (disk.path().join("ssd"), disk.path().join("away"));
    let ssd = json!([{"path": path, "capacity_bytes": 64 << 20}]);
    let daemon = Daemon::start_with(|settings| settings.ssd = serde_json::from_value(ssd).unwrap());
    let state = |state: &str| {
        let name = format!(
            "pegaflow_ssd_path_state{{path=\"{}\",state=\"{state}\"}}",
            path.display()
        );
        metrics(&daemon.ready.http_addr)[&name]
    };
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let first = save_and_load(&mut engine).await;
    let flush = json!({"operation": "tier-flush", "tier": "memory"});
    operate(&daemon, &flush).await.unwrap();
    assert_eq!(readiness(&daemon)["state"], "ready");

    fs::rename(&path, &away).unwrap();
    let mut hashes = Vec::new();
    eventually_within("the path is offline", PATIENCE, async || {
        hashes = save_and_load(&mut engine).await;
        readiness(&daemon)["state"] == "degraded"
    })
    .await;
    let reason = readiness(&daemon)["reasons"][0].as_str().unwrap().to_owned();
    let offline = format!("ssd path {} is offline: ", path.display());
    assert!(reason.starts_with(&offline), "{reason}");
    let status = daemon.status().await;
    assert_eq!(status["state"], "degraded");
    let shown = &status["ssd"]["paths"][0];
    assert_eq!(shown["state"], "offline");
    assert!(reason.ends_with(shown["reason"].as_str().unwrap()), "{shown}");
    assert_eq!((state("offline"), state("online")), (1.0, 0.0));
    let meanwhile = save_and_load(&mut engine).await;

    fs::rename(&away, &path).unwrap();
    eventually_within("the path is back", PATIENCE, async || {
        readiness(&daemon)["state"] == "ready"
    })
    .await;
    assert_eq!(readiness(&daemon)["reasons"], json!([]));
    assert_eq!((state("offline"), state("online")), (0.0, 1.0));
    assert_eq!(daemon.status().await["ssd"]["paths"][0]["state"], "online");
    let drained = operate(&daemon, &json!({"operation": "tier-drain", "tier": "memory"})).await;
    assert_eq!(drained.unwrap()["kept_blocks"], 0);
    for hashes in [first, hashes, meanwhile] {
        let request = lookup_request(engine.scheduler.id(), packed(&hashes));
        let (found, _) = wait_for(&mut engine, &request).await;
        assert_eq!((found.memory_blocks, found.ssd_blocks), (0, 4));
    }
}
