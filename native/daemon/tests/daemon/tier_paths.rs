//! Paths of the ssd tier that come and go.

use std::path::PathBuf;

use pegaflow_core::error::ErrorKind;
use pegaflow_daemon::{DaemonConfig, check, run};
use serde_json::{Value, json};
use tempfile::TempDir;
use tonic::Code;

use crate::operations::operate;
use crate::support::{Daemon, config};

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
        let refused = run(settings.clone(), |_| panic!("it started")).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Config);
        assert!(
            refused.message().contains(&format!("{missing:?} does not exist")),
            "{refused}"
        );
        assert_eq!(check(&settings).unwrap_err().message(), refused.message());
        assert!(!missing.exists());
    }
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
