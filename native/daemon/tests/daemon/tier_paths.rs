//! Paths of the ssd tier that come and go.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use pegaflow_core::error::ErrorKind;
use pegaflow_daemon::{DaemonConfig, check, run};
use serde_json::{Value, json};
use tempfile::TempDir;
use tonic::Code;

use crate::operations::operate;
use crate::support::engine::{Engine, Shape, fresh_hashes, lookup_request, packed};
use crate::support::{Daemon, config, eventually_within, metrics};
use crate::tiers::wait_for;

const SIZE: u64 = 64 << 20;

fn with_path(disk: &TempDir) -> impl FnOnce(&mut DaemonConfig) {
    let path = json!([{"path": disk.path().join("ssd"), "capacity_bytes": SIZE}]);
    |settings| settings.ssd = serde_json::from_value(path).unwrap()
}

fn add_path(path: impl Into<Value>) -> Value {
    json!({"operation": "tier-add-path", "path": path.into(), "size_bytes": SIZE})
}

#[tokio::test]
async fn a_tier_without_any_path_says_how_to_give_it_one() {
    let disk = TempDir::new().unwrap();
    let path = disk.path().join("ssd");
    let path = path.to_str().unwrap();
    let daemon = Daemon::start_with(with_path(&disk));
    let removed = json!({"operation": "tier-remove-path", "path": path});
    operate(&daemon, &removed).await.unwrap();
    let all = [
        removed,
        json!({"operation": "warm", "from": "ssd"}),
        json!({"operation": "tier-flush", "tier": "memory"}),
        json!({"operation": "tier-flush", "tier": "ssd"}),
        json!({"operation": "tier-drain", "tier": "memory"}),
        json!({"operation": "tier-drain", "tier": "ssd"}),
        json!({"operation": "tier-verify", "tier": "ssd"}),
        json!({"operation": "tier-evict", "tier": "ssd", "amount": {"percent": 50}}),
        json!({"operation": "tier-resize", "tier": "ssd", "size_bytes": SIZE}),
    ];
    for operation in &all {
        let refused = operate(&daemon, operation).await.unwrap_err();
        assert!(
            refused.message().contains("tier add-path"),
            "{operation}: {refused}"
        );
    }
    operate(&daemon, &add_path(path)).await.unwrap();
    let flushed = operate(&daemon, &json!({"operation": "tier-flush", "tier": "ssd"})).await;
    flushed.unwrap();
}

#[tokio::test]
async fn a_daemon_without_an_ssd_tier_gets_one_with_its_first_path() {
    let disk = TempDir::new().unwrap();
    let daemon = Daemon::start();
    let shape = Shape::new();
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let hashes = fresh_hashes(8);
    engine.save(&hashes, &[0, 1, 2, 3, 4, 5, 6, 7]).await;
    let contents: Vec<_> = (0..8)
        .map(|block| engine.workers[0].memory.block(block))
        .collect();
    assert_eq!(daemon.status().await["ssd"], Value::Null);
    let flush = json!({"operation": "tier-flush", "tier": "memory"});
    let refused = operate(&daemon, &flush).await.unwrap_err();
    assert!(refused.message().contains("tier add-path"), "{refused}");

    for name in ["one", "two"] {
        let path = disk.path().join(name);
        operate(&daemon, &add_path(path.to_str().unwrap())).await.unwrap();
    }
    let drained = operate(&daemon, &json!({"operation": "tier-drain", "tier": "memory"})).await;
    assert_eq!(drained.unwrap()["blocks"], 8);
    let request = lookup_request(engine.scheduler.id(), packed(&hashes));
    let (found, _) = wait_for(&mut engine, &request).await;
    assert_eq!((found.memory_blocks, found.ssd_blocks), (0, 8));
    let blocks = [20, 21, 22, 23, 24, 25, 26, 27];
    engine.workers[0].load(found.lease_id, 0, &blocks).await.unwrap();
    let loaded: Vec<_> = blocks
        .iter()
        .map(|block| engine.workers[0].memory.block(*block))
        .collect();
    assert!(loaded == contents);
    assert_eq!(daemon.status().await["ssd"]["paths"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn what_is_drained_from_a_path_is_what_memory_gets() {
    let disk = TempDir::new().unwrap();
    let path = |name: &str| disk.path().join(name).to_str().unwrap().to_owned();
    let daemon = Daemon::start();
    let shape = Shape::new();
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let mut saved = Vec::new();
    for name in ["one", "two"] {
        operate(&daemon, &add_path(path(name))).await.unwrap();
        let hashes = fresh_hashes(8);
        engine.save(&hashes, &[0, 1, 2, 3, 4, 5, 6, 7]).await;
        saved.push(hashes);
        let drain = json!({"operation": "tier-drain", "tier": "memory"});
        operate(&daemon, &drain).await.unwrap();
        let remove = json!({"operation": "tier-remove-path", "path": path(name)});
        operate(&daemon, &remove).await.unwrap();
    }
    for name in ["one", "two"] {
        operate(&daemon, &add_path(path(name))).await.unwrap();
    }
    let drain = json!({"operation": "tier-drain", "tier": "ssd", "path": path("one")});
    let drained = operate(&daemon, &drain).await.unwrap();
    assert_eq!(
        (&drained["copied_blocks"], &drained["blocks"]),
        (&json!(8), &json!(8))
    );
    for (hashes, tiers) in saved.iter().zip([(8, 0), (0, 8)]) {
        let request = lookup_request(engine.scheduler.id(), packed(hashes));
        let (found, _) = wait_for(&mut engine, &request).await;
        assert_eq!((found.memory_blocks, found.ssd_blocks), tiers);
    }
}

#[tokio::test]
async fn a_stop_brings_all_to_a_path_that_was_added() {
    let disk = TempDir::new().unwrap();
    let path = disk.path().join("ssd");
    let daemon = Daemon::start();
    operate(&daemon, &add_path(path.to_str().unwrap())).await.unwrap();
    let shape = Shape::new();
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    engine.save(&fresh_hashes(8), &[0, 1, 2, 3, 4, 5, 6, 7]).await;
    drop(engine);
    daemon.stop().await;
    let daemon = Daemon::start_with(with_path(&disk));
    assert_eq!(daemon.status().await["ssd"]["blocks"], 8);
}

#[tokio::test]
async fn a_path_that_holds_more_than_its_size_is_added_only_with_leave_to_evict() {
    // Its segments are as large as all that it may have later.
    const LARGE: u64 = SIZE * 64;
    let disk = TempDir::new().unwrap();
    let path = disk.path().join("ssd");
    let add = |size: u64| json!({"operation": "tier-add-path", "path": path, "size_bytes": size});
    let daemon = Daemon::start();
    operate(&daemon, &add(LARGE)).await.unwrap();
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    engine.save(&fresh_hashes(8), &[0, 1, 2, 3, 4, 5, 6, 7]).await;
    let flush = json!({"operation": "tier-flush", "tier": "memory"});
    operate(&daemon, &flush).await.unwrap();
    let remove = json!({"operation": "tier-remove-path", "path": path});
    operate(&daemon, &remove).await.unwrap();

    let refused = operate(&daemon, &add(SIZE)).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    for said in ["is to have 64.0 MiB", "`--yes`"] {
        assert!(refused.message().contains(said), "{refused}");
    }
    assert_eq!(daemon.status().await["ssd"]["paths"], json!([]));
    let added = operate(&daemon, &add(LARGE)).await.unwrap();
    assert_eq!(
        (&added["blocks"], &added["evicted_blocks"]),
        (&json!(8), &json!(0))
    );
    operate(&daemon, &remove).await.unwrap();

    let mut smaller = add(SIZE);
    smaller["evict"] = true.into();
    let added = operate(&daemon, &smaller).await.unwrap();
    assert_eq!(
        (&added["blocks"], &added["evicted_blocks"]),
        (&json!(0), &json!(8))
    );
    assert_eq!(daemon.status().await["ssd"]["paths"][0]["capacity_bytes"], SIZE);
}

#[tokio::test]
async fn a_path_that_no_tier_can_have_is_not_added() {
    let disk = TempDir::new().unwrap();
    let path = disk.path().join("ssd");
    let daemon = Daemon::start_with(with_path(&disk));
    let cases = [
        (path.join("inner"), "one in the other"),
        (disk.path().to_owned(), "one in the other"),
        (disk.path().join("a\nb"), "control character"),
    ];
    for (path, said) in cases {
        let refused = operate(&daemon, &add_path(path.to_str().unwrap())).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        assert!(refused.message().contains(said), "{refused}");
        assert!(!path.join("inner").exists());
    }
}

#[tokio::test]
async fn a_path_that_cannot_be_used_is_refused_with_the_reason_and_is_no_path() {
    let disk = TempDir::new().unwrap();
    let good = disk.path().join("ssd");
    let file = disk.path().join("file");
    fs::write(&file, "").unwrap();
    let cases = [
        // No system lets anybody make directories there, root neither.
        (PathBuf::from("/proc/pegaflow"), "is not added"),
        (PathBuf::from("/sys/pegaflow"), "is not added"),
        (disk.path().join("x".repeat(300)), "name too long"),
        (file.join("below"), "is no directory"),
        (file, "is no directory"),
    ];
    // One that has an ssd tier, and one that gets none by this.
    for daemon in [Daemon::start_with(with_path(&disk)), Daemon::start()] {
        let paths = async || {
            let status = daemon.status().await;
            let paths = status["ssd"]["paths"].as_array().cloned().unwrap_or_default();
            (status["state"].clone(), paths.len())
        };
        let before = paths().await;
        for (path, said) in &cases {
            let path = path.to_str().unwrap();
            let refused = operate(&daemon, &add_path(path)).await.unwrap_err();
            assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
            assert!(refused.message().contains(path), "{refused}");
            assert!(refused.message().to_lowercase().contains(said), "{refused}");
            assert_eq!(paths().await, before, "{path}");
        }
        let metrics = metrics(&daemon.ready.http_addr);
        let refused = "pegaflow_operations_total{operation=\"tier-add-path\",result=\"refused\"}";
        assert_eq!(metrics[refused], cases.len() as f64);
    }
    // What was wrong can be mended, and the path added then.
    let daemon = Daemon::start();
    let target = disk.path().join("target");
    let link = disk.path().join("link");
    symlink(&target, &link).unwrap();
    operate(&daemon, &add_path(link.to_str().unwrap()))
        .await
        .unwrap_err();
    fs::create_dir(&target).unwrap();
    operate(&daemon, &add_path(link.to_str().unwrap())).await.unwrap();
    assert!(good.is_dir());
}

/// Paths of which more than the last part would have to be made, each with what is missing.
fn unmounted(disk: &TempDir) -> [(PathBuf, PathBuf); 3] {
    let missing = disk.path().join("mount");
    ["ssd", "a/ssd", "a/b/ssd"].map(|below| (missing.join(below), missing.clone()))
}

#[tokio::test]
async fn a_path_is_made_only_in_a_directory_that_is_there() {
    let disk = TempDir::new().unwrap();
    let daemon = Daemon::start_with(with_path(&disk));
    assert!(disk.path().join("ssd").is_dir(), "its last part is made");
    for (path, missing) in unmounted(&disk) {
        let refused = operate(&daemon, &add_path(path.to_str().unwrap())).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        assert!(refused.message().contains(&format!("{path:?}")), "{refused}");
        assert!(
            refused.message().contains(&format!("{missing:?} does not exist")),
            "{refused}"
        );
        assert!(!missing.exists());
    }
}

#[test]
fn a_start_on_a_disk_that_is_not_mounted_is_refused() {
    let disk = TempDir::new().unwrap();
    for (path, missing) in unmounted(&disk) {
        let mut settings = config(disk.path());
        let path = json!([{"path": path, "capacity_bytes": SIZE}]);
        settings.ssd = serde_json::from_value(path).unwrap();
        let refused = run(settings.clone(), Vec::new(), |_| panic!("it started")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Config);
        assert!(
            refused.message().contains(&format!("{missing:?} does not exist")),
            "{refused}"
        );
        assert_eq!(check(&settings).unwrap_err().message(), refused.message());
        assert!(!missing.exists());
    }
}

#[tokio::test]
async fn a_path_larger_than_its_disk_is_told_and_works() {
    const HUGE: u64 = 1 << 50;
    let disk = TempDir::new().unwrap();
    let (path, more) = (disk.path().join("ssd"), disk.path().join("more"));
    let huge = json!([{"path": path, "capacity_bytes": HUGE}]);
    let daemon = Daemon::start_with(|settings| settings.ssd = serde_json::from_value(huge).unwrap());
    let shortages = async || daemon.status().await["ssd"]["shortages"].clone();
    let told = shortages().await;
    assert_eq!(json!(daemon.ready.warnings), told);
    let sentence = told[0].as_str().unwrap();
    assert!(
        sentence.starts_with(&format!("{path:?} may take 1.0 PiB")),
        "{sentence}"
    );
    assert_eq!(daemon.status().await["state"], "ready");
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    engine.save(&fresh_hashes(1), &[0]).await;
    let flush = json!({"operation": "tier-flush", "tier": "memory"});
    operate(&daemon, &flush).await.unwrap();
    assert_eq!(daemon.status().await["ssd"]["blocks"], 1);

    let resize = |bytes: u64| json!({"operation": "tier-resize", "tier": "ssd", "size_bytes": bytes});
    let resized = operate(&daemon, &resize(SIZE)).await.unwrap();
    assert_eq!(
        (resized["warnings"].clone(), shortages().await),
        (json!([]), json!([]))
    );
    let resized = operate(&daemon, &resize(2 * HUGE)).await.unwrap();
    let told = shortages().await;
    assert!(told[0].as_str().unwrap().contains("may take 2.0 PiB"), "{told}");
    assert_eq!(resized["warnings"], told);
    operate(&daemon, &resize(SIZE)).await.unwrap();
    let mut add = add_path(more.to_str().unwrap());
    add["size_bytes"] = HUGE.into();
    let added = operate(&daemon, &add).await.unwrap();
    let told = shortages().await;
    assert_eq!(added["warnings"], told);
    assert!(
        told[0].as_str().unwrap().contains(more.to_str().unwrap()),
        "{told}"
    );
    let remove = json!({"operation": "tier-remove-path", "path": more});
    operate(&daemon, &remove).await.unwrap();
    assert_eq!(shortages().await, json!([]));
}

#[test]
fn the_start_warns_of_a_path_that_is_offline() {
    // Nobody can make a directory there.
    let path = json!([{"path": "/proc/pegaflow", "capacity_bytes": SIZE}]);
    let daemon = Daemon::start_with(|settings| settings.ssd = serde_json::from_value(path).unwrap());
    let warnings = &daemon.ready.warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].starts_with("ssd path /proc/pegaflow is offline: "),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn a_path_that_is_offline_at_the_start_is_looked_at_when_it_comes() {
    let disk = TempDir::new().unwrap();
    let path = disk.path().join("ssd");
    Daemon::start_with(with_path(&disk)).stop().await;
    // What names the path cannot be opened as a link.
    let (name, away) = (path.join("pegaflow.ssd"), path.join("away"));
    fs::rename(&name, &away).unwrap();
    symlink(&away, &name).unwrap();
    let huge = json!([{"path": path, "capacity_bytes": 1_u64 << 50}]);
    let daemon = Daemon::start_with(|settings| settings.ssd = serde_json::from_value(huge).unwrap());
    let ssd = async || daemon.status().await["ssd"].clone();
    let before = ssd().await;
    assert_eq!(
        (before["paths"][0]["state"].clone(), before["shortages"].clone()),
        (json!("offline"), json!([]))
    );
    fs::rename(&away, &name).unwrap();
    eventually_within("the path is looked at", Duration::from_secs(120), async || {
        ssd().await["shortages"][0]
            .as_str()
            .is_some_and(|said| said.contains("may take 1.0 PiB"))
    })
    .await;
    assert_eq!(ssd().await["paths"][0]["state"], "online");
}

#[tokio::test]
async fn a_verification_counts_what_it_can_read_and_says_what_not() {
    let disk = TempDir::new().unwrap();
    let dirs = ["a", "b"].map(|name| disk.path().join(name));
    let paths: Vec<_> = dirs
        .iter()
        .map(|dir| json!({"path": dir, "capacity_bytes": SIZE}))
        .collect();
    let daemon = Daemon::start_with(|settings| settings.ssd = serde_json::from_value(paths.into()).unwrap());
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    engine.save(&fresh_hashes(8), &[0, 1, 2, 3, 4, 5, 6, 7]).await;
    let flush = json!({"operation": "tier-flush", "tier": "memory"});
    operate(&daemon, &flush).await.unwrap();
    let verify = json!({"operation": "tier-verify", "tier": "ssd"});
    let verified = operate(&daemon, &verify).await.unwrap();
    let counts = |verified: &Value| -> Vec<u64> {
        let paths = verified["paths"].as_array().unwrap().iter();
        paths.map(|path| path["verified"].as_u64().unwrap()).collect()
    };
    let all = counts(&verified);
    assert_eq!(
        (all.iter().sum::<u64>(), verified["verified"].clone()),
        (8, json!(8))
    );
    assert!(
        verified["paths"]
            .as_array()
            .unwrap()
            .iter()
            .all(|path| path["reason"].is_null())
    );

    fs::rename(&dirs[1], disk.path().join("away")).unwrap();
    let offline = async || daemon.status().await["ssd"]["paths"][1]["state"] == "offline";
    eventually_within("the path is offline", Duration::from_secs(120), offline).await;
    let verified = operate(&daemon, &verify).await.unwrap();
    assert_eq!(counts(&verified), [all[0], 0]);
    assert_eq!(verified["verified"], all[0]);
    assert!(verified["paths"][0]["reason"].is_null());
    let reason = verified["paths"][1]["reason"].as_str().unwrap();
    assert!(reason.contains("is offline: "), "{reason}");
    // With nothing to count it is an error.
    let only = json!({"operation": "tier-verify", "tier": "ssd", "path": dirs[1]});
    let refused = operate(&daemon, &only).await.unwrap_err();
    assert!(refused.message().contains("is offline: "), "{refused}");

    let remove = json!({"operation": "tier-remove-path", "path": dirs[1], "delete_files": true});
    let refused = operate(&daemon, &remove).await.unwrap_err();
    assert!(refused.message().contains("its files stay"), "{refused}");
    assert_eq!(daemon.status().await["ssd"]["paths"].as_array().unwrap().len(), 1);
}
