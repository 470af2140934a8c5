use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn settings() -> Value {
    json!({"socket": "/run/pegaflow/daemon.sock", "pool_bytes": 1 << 30})
}

fn with(key: &str, value: impl Into<Value>) -> Result<DaemonConfig> {
    let mut settings = settings();
    settings[key] = value.into();
    DaemonConfig::from_json(&settings.to_string())
}

fn ssd(path: &str, capacity_bytes: u64) -> Value {
    json!([{"path": path, "capacity_bytes": capacity_bytes}])
}

#[test]
fn an_ssd_path_is_named_once() {
    let twice = json!([
        {"path": "/a", "capacity_bytes": 1 << 30},
        {"path": "/a", "capacity_bytes": 1_u64 << 31},
    ]);
    assert!(with("ssd", twice).unwrap_err().message().contains("twice"));
}

#[test]
fn no_ssd_path_is_in_another_one() {
    let ssd = |one: &str, other: &str| {
        json!([
            {"path": one, "capacity_bytes": 1 << 30},
            {"path": other, "capacity_bytes": 1 << 30},
        ])
    };
    for (one, other) in [("/a", "/a/b"), ("/a/b/c", "/a"), ("/", "/a")] {
        let error = with("ssd", ssd(one, other)).unwrap_err();
        assert!(error.message().contains("one in the other"), "{error}");
    }
    with("ssd", ssd("/a", "/ab")).unwrap();
}

#[test]
fn a_path_may_be_as_small_as_the_tier_can_have_it() {
    use pegaflow_core::ssd::MIN_CAPACITY;

    with("ssd", ssd("/a", MIN_CAPACITY)).unwrap();
    let error = with("ssd", ssd("/a", MIN_CAPACITY - 1)).unwrap_err();
    assert!(error.message().contains(&MIN_CAPACITY.to_string()), "{error}");
}

#[test]
fn what_python_writes_is_read() {
    // Every field of pegaflow.config.DaemonConfig.
    let json = json!({
        "socket": "/run/pegaflow/daemon.sock", "socket_group": null, "http_addr": null, "pool_bytes": 1 << 30,
        "pool_size_origin": "auto", "pool_dir": null, "eviction_policy": "s3fifo",
        "verify": "always", "scrub_period_s": 3600.0,
        "ssd": [{"path": "/var/cache/pegaflow", "capacity_bytes": 1_u64 << 40}], "ssd_engine": "psync",
        "ssd_write_budget_bytes": 1_u64 << 41, "ssd_admission": "reused", "ssd_fetch_bytes": 1 << 28,
        "min_benefit": 1.5, "warm_on_start": true, "record_dir": "/var/lib/pegaflow", "record_bytes": 1 << 30,
        "lease_ttl_s": 600.0, "copy_threads": 2, "copy_strategy": "plain", "max_rate_bytes_s": 1000000000,
        "drain_timeout_s": 10.0, "log_level": "info", "log_format": "json",
        "log_file": "/var/log/pegaflow.log", "pid_file": null,
    });
    let config = DaemonConfig::from_json(&json.to_string()).unwrap();
    assert_eq!(config.eviction_policy, EvictionPolicy::S3fifo);
    assert_eq!(config.lease_ttl().unwrap(), Duration::from_secs(600));
}

#[test]
fn mistakes_are_named_with_their_value() {
    let cases = [
        (
            with("eviction_policy", "mru"),
            vec!["mru", "lru", "s3fifo", "density"],
        ),
        (with("copy_threads", 0), vec!["copy_threads = 0", "1 to 64"]),
        (with("max_rate_bytes_s", 1000), vec!["max_rate = 1000", "1048576"]),
        (with("lease_ttl_s", 0), vec!["lease_ttl = 0"]),
        (with("verify", "never"), vec!["never", "always", "first", "off"]),
        (with("scrub_period_s", 0), vec!["scrub_period = 0"]),
        (with("ssd", ssd("relative", 1 << 30)), vec!["\"relative\"", "/"]),
        (with("ssd", ssd("/a", 5)), vec!["5 bytes for /a", "33554432"]),
        (
            with("ssd", ssd("/a\nb", 1 << 30)),
            vec!["/a\\nb", "control character"],
        ),
        (with("ssd", ssd("/a/../b", 1 << 30)), vec!["/a/../b", "without"]),
        (with("ssd_engine", "aio"), vec!["aio", "auto", "uring", "psync"]),
        (with("ssd_admission", "some"), vec!["some", "all", "reused"]),
        (with("ssd_write_budget_bytes", 0), vec!["ssd_write_budget = 0"]),
        (with("ssd_fetch_bytes", 0), vec!["ssd_fetch_bytes = 0"]),
        (with("min_benefit", -1.0), vec!["min_benefit = -1"]),
        (with("warm_on_start", true), vec!["warm_on_start", "ssd"]),
        (with("drain_timeout_s", -1), vec!["drain_timeout = -1"]),
        (with("socket", "x".repeat(108)), vec!["108 bytes", "107"]),
        (with("poolsize", 5), vec!["poolsize"]),
    ];
    for (outcome, parts) in cases {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        for part in parts {
            assert!(error.message().contains(part), "{part:?} is not in: {error}");
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_settings_or_an_error(text in ".{0,200}") {
        drop(DaemonConfig::from_json(&text));
    }

    #[test]
    fn any_number_of_seconds_is_a_duration_or_an_error(seconds: f64) {
        if let Ok(config) = with("drain_timeout_s", seconds) {
            prop_assert!(config.drain_timeout().unwrap() <= Duration::from_secs(86_400));
        }
    }
}
