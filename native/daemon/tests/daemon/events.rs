//! The events of a daemon, as HTTP gives them.

use std::thread;
use std::time::{Duration, Instant};

use pegaflow_proto::v1::RenewRequest;
use serde_json::{Value, json};

use crate::operations::operate;
use crate::support::engine::{Engine, Shape, fresh_hashes};
use crate::support::{Daemon, eventually, get, metrics};

fn read(daemon: &Daemon, query: &str) -> Value {
    get(&daemon.ready.http_addr, &format!("/v1/events{query}")).json()
}

fn texts(page: &Value, kind: &str) -> Vec<String> {
    let events = page["events"].as_array().unwrap().iter();
    events
        .filter(|event| event["kind"] == kind)
        .map(|event| event["text"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn the_start_and_its_self_test_come_first() {
    let daemon = Daemon::start();
    eventually("the first look", async || {
        texts(&read(&daemon, ""), "daemon").len() >= 2
    })
    .await;
    let page = read(&daemon, "");
    assert_eq!(
        (&page["boot_id"], &page["lost"]),
        (&daemon.ready.boot_id.as_str().into(), &0.into())
    );
    assert_eq!(page["events"][0]["sequence"], 1);
    assert!(texts(&page, "daemon")[0].starts_with("the daemon started: version "));
    assert_eq!(texts(&page, "daemon")[1], "the daemon is ready");
    assert!(texts(&page, "self-test")[0].starts_with("host copies passed their self-test"));
}

#[tokio::test]
async fn the_self_test_is_in_the_status() {
    let daemon = Daemon::start();
    let tests = daemon.status().await["self_tests"].clone();
    assert_eq!(
        (&tests[0]["copy_path"], &tests[0]["error"], &tests[0]["bytes"]),
        (&"host".into(), &Value::Null, &(1 << 20).into())
    );
}

#[tokio::test]
async fn engines_tell_that_they_went_without_the_cache() {
    let daemon = Daemon::start();
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let session_id = engine.scheduler.id();
    for breaker_openings in [0, 1, 3] {
        let renewal = RenewRequest {
            session_id,
            lease_ids: vec![],
            breaker_openings,
        };
        engine.scheduler.rpc.renew(renewal).await.unwrap();
    }
    let page = read(&daemon, "");
    let told = texts(&page, "engine").into_iter();
    assert_eq!(
        told.filter(|text| text.contains("without")).collect::<Vec<_>>(),
        [
            "engine test-engine went without the cache 1 time: its lookups were not answered",
            "engine test-engine went without the cache 3 times: its lookups were not answered",
        ]
    );
    let shown = metrics(&daemon.ready.http_addr);
    assert_eq!(shown["pegaflow_engine_breaker_openings_total"], 4.0);
}

#[tokio::test]
async fn engines_come_and_go_with_their_names() {
    let daemon = Daemon::start();
    let engine = Engine::start(daemon.socket(), &Shape::new()).await;
    drop(engine);
    eventually("both sides left", async || {
        texts(&read(&daemon, ""), "engine").len() == 4
    })
    .await;
    let page = read(&daemon, "");
    let mut engine: Vec<_> = texts(&page, "engine")
        .iter()
        .map(|text| {
            let (head, tail) = text.split_once(" (pid ").unwrap();
            let what = tail.split_once(") ").unwrap().1;
            format!("{head}: {what}")
        })
        .collect();
    engine[2..].sort();
    assert_eq!(
        engine,
        [
            "engine test-engine: scheduler: attached",
            "engine test-engine: worker 0: attached",
            "engine test-engine: scheduler: left",
            "engine test-engine: worker 0: left",
        ]
    );
    assert!(
        page["events"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["kind"] == "engine")
            .all(|event| event["subject"] == "test-engine")
    );
}

#[tokio::test]
async fn metrics_have_the_state_the_events_and_the_quotas() {
    let daemon = Daemon::start();
    eventually("ready", async || {
        metrics(&daemon.ready.http_addr)["pegaflow_state{state=\"ready\"}"] == 1.0
    })
    .await;
    let quota =
        json!({"operation": "namespace-quota", "namespace": "ab".repeat(32), "quota": {"bytes": 1 << 20}});
    operate(&daemon, &quota).await.unwrap();
    let before = read(&daemon, "")["last"].as_u64().unwrap();
    let metrics = metrics(&daemon.ready.http_addr);
    let after = read(&daemon, "")["last"].as_u64().unwrap();
    let states = metrics
        .iter()
        .filter(|(name, _)| name.starts_with("pegaflow_state{"));
    assert_eq!(states.map(|(_, is_in)| is_in).sum::<f64>(), 1.0);
    assert!((before as f64..=after as f64).contains(&metrics["pegaflow_events_total"]));
    let quota = format!(
        "pegaflow_namespace_quota_bytes{{namespace=\"{}\"}}",
        "ab".repeat(8)
    );
    assert_eq!(metrics[&quota], f64::from(1 << 20));
}

#[tokio::test]
async fn operations_and_changes_of_settings_are_told_apart() {
    let daemon = Daemon::start();
    let namespace = "ab".repeat(32);
    operate(
        &daemon,
        &json!({"operation": "namespace-pin", "namespace": namespace}),
    )
    .await
    .unwrap();
    operate(
        &daemon,
        &json!({"operation": "tier-evict", "tier": "memory", "amount": {"percent": 100.0}}),
    )
    .await
    .unwrap();
    assert!(
        operate(&daemon, &json!({"operation": "engine-evict", "engine": "nobody"}))
            .await
            .is_err()
    );
    let page = read(&daemon, "");
    assert_eq!(
        texts(&page, "configuration"),
        ["namespace-pin began", "namespace-pin is done"]
    );
    let operations = texts(&page, "operation");
    assert_eq!(
        operations[..3],
        ["tier-evict began", "tier-evict is done", "engine-evict began"]
    );
    assert!(operations[3].starts_with("engine-evict failed: engine nobody is not attached"));
}

#[tokio::test]
async fn a_reader_that_waits_hears_at_once_and_misses_nothing() {
    let daemon = Daemon::start();
    let last = read(&daemon, "")["last"].as_u64().unwrap();
    let address = daemon.ready.http_addr.clone();
    let reader = thread::spawn(move || {
        let (mut last, mut seen, deadline) = (last, Vec::new(), Instant::now() + Duration::from_secs(60));
        while seen.len() < 2 && Instant::now() < deadline {
            let page = get(&address, &format!("/v1/events?after={last}&wait=10")).json();
            last = page["last"].as_u64().unwrap();
            seen.extend(texts(&page, "engine"));
        }
        seen
    });
    let engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let seen = tokio::task::spawn_blocking(|| reader.join().unwrap())
        .await
        .unwrap();
    drop(engine);
    assert_eq!(seen.len(), 2);
    assert!(seen[1].contains("worker 0"), "{seen:?}");
}

#[tokio::test]
async fn a_number_that_no_event_has_counts_as_the_last() {
    let daemon = Daemon::start();
    let last = || read(&daemon, "")["last"].as_u64().unwrap();
    for after in [1 << 40, u64::MAX - 1, u64::MAX] {
        let before = last();
        let page = read(&daemon, &format!("?after={after}"));
        assert_eq!(page["lost"], 0, "{after}");
        // What happens between the question and the answer may be in it.
        let events = page["events"].as_array().unwrap();
        assert!(
            events
                .iter()
                .all(|event| event["sequence"].as_u64().unwrap() > before)
        );
        assert!(
            (before..=last()).contains(&page["last"].as_u64().unwrap()),
            "{page}"
        );
    }
    let before = last();
    let address = daemon.ready.http_addr.clone();
    let query = format!("/v1/events?after={}&wait=30", u64::MAX);
    let reader = thread::spawn(move || get(&address, &query).json());
    while !reader.is_finished() {
        drop(Engine::start(daemon.socket(), &Shape::new()).await);
    }
    let heard = reader.join().unwrap();
    assert!(
        heard["events"][0]["sequence"].as_u64().unwrap() > before,
        "{heard}"
    );
}

#[tokio::test]
async fn a_question_that_cannot_be_read_is_answered_with_what_is_allowed() {
    let daemon = Daemon::start();
    for query in ["?after=-1", "?wait=31", "?wait=NaN", "?kind=engine"] {
        let answer = get(&daemon.ready.http_addr, &format!("/v1/events{query}"));
        assert_eq!(answer.code, 400, "{query}");
        let error = answer.json()["error"].as_str().unwrap().to_owned();
        assert!(
            error.contains("allowed: after=NUMBER and wait=SECONDS"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_evicted_engine_loses_its_sessions_and_leases_and_keeps_its_blocks() {
    let daemon = Daemon::start();
    let shape = Shape::new();
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let hashes = fresh_hashes(3);
    engine.save(&hashes, &[0, 1, 2]).await;
    let lease = engine.lookup(&hashes).await.lease_id;
    assert_ne!(lease, 0);
    let request = json!({"operation": "engine-evict", "engine": "test-engine"});
    let evicted = operate(&daemon, &request).await.unwrap();
    assert_eq!((&evicted["sessions"], &evicted["leases"]), (&2.into(), &1.into()));
    let status = daemon.status().await;
    assert_eq!(
        (&status["engines"], &status["leases"]["held"]),
        (&json!([]), &0.into())
    );
    assert_eq!(status["namespaces"][0]["blocks"], 3);
    let refused = engine.workers[0].load(lease, 1, &[9, 8]).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::NotFound);
    let events = texts(&read(&daemon, ""), "engine");
    assert!(
        events[2..]
            .iter()
            .all(|text| text.ends_with("was evicted by an operator"))
    );

    // One that lives attaches again, and has its blocks.
    let mut again = Engine::start(daemon.socket(), &shape).await;
    assert_ne!(again.lookup(&hashes).await.lease_id, 0);
}
