//! Why blocks were missed, what was evicted, and what each engine moved: exactly what the script did.

use std::collections::{BTreeMap, BTreeSet};

use pegaflow_proto::v1::ReleaseRequest;
use serde_json::{Value, json};

use crate::operations::operate;
use crate::support::engine::{BLOCKS, Engine, Shape, fresh_hashes, lookup_request, packed};
use crate::support::{Daemon, eventually, metrics};

/// The values of one metric, by the value of one label.
fn by(metrics: &BTreeMap<String, f64>, name: &str, label: &str) -> BTreeMap<String, u64> {
    let mut values = BTreeMap::new();
    for (sample, value) in metrics {
        let Some(labels) = sample.strip_prefix(name).and_then(|rest| rest.strip_prefix('{')) else {
            continue;
        };
        let (_, rest) = labels.split_once(&format!("{label}=\"")).unwrap();
        let of = rest.split('"').next().unwrap().to_owned();
        *values.entry(of).or_default() += *value as u64;
    }
    values
}

fn nonzero(values: BTreeMap<String, u64>) -> Vec<(String, u64)> {
    values.into_iter().filter(|(_, value)| *value > 0).collect()
}

pub(crate) async fn release(engine: &mut Engine, lease_id: u64) {
    let request = ReleaseRequest {
        session_id: engine.scheduler.id(),
        lease_ids: vec![lease_id],
        lookup_ids: Vec::new(),
    };
    engine.scheduler.rpc.release(request).await.unwrap();
}

async fn evict_all(daemon: &Daemon) {
    let evict = json!({"operation": "tier-evict", "tier": "memory", "amount": {"percent": 100}});
    operate(daemon, &evict).await.unwrap();
}

#[tokio::test]
async fn each_miss_has_its_reason_and_all_add_up() {
    let daemon = Daemon::start();
    let shape = Shape::with_workers(2);
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let hashes = fresh_hashes(10);
    engine.lookup(&hashes).await;
    engine.save(&hashes[..6], &[0, 1, 2, 3, 4, 5]).await;
    let lease = engine.lookup(&hashes[..2]).await.lease_id;
    release(&mut engine, lease).await;
    evict_all(&daemon).await;
    engine.lookup(&hashes).await;

    let metrics = metrics(&daemon.ready.http_addr);
    let of = |name: &str, label: &str| nonzero(by(&metrics, name, label));
    let named = |values: &[(&str, u64)]| {
        let values = values.iter().map(|(name, value)| ((*name).to_owned(), *value));
        values.collect::<Vec<_>>()
    };
    let tiers = of("pegaflow_cache_tier_block_requests_total", "tier");
    assert_eq!(tiers, named(&[("memory", 2), ("miss", 20)]));
    let missed = of("pegaflow_cache_missed_blocks_total", "reason");
    assert_eq!(missed, named(&[("new", 14), ("request", 6)]));
    assert_eq!(
        of("pegaflow_cache_evicted_blocks_total", "reason"),
        named(&[("request", 6)])
    );
    assert_eq!(
        of("pegaflow_cache_evicted_blocks_total", "use"),
        named(&[("found", 2), ("never", 4)])
    );
    assert_eq!(of("pegaflow_cache_ghost_hits_total", "pool"), []);
    for ages in ["pegaflow_cache_residence_seconds", "pegaflow_cache_idle_seconds"] {
        assert_eq!(metrics[&format!("{ages}_count")], 6.0);
    }
    let windows = ["900", "3600", "86400"].map(|window| (window.to_owned(), 22));
    assert_eq!(
        by(
            &metrics,
            "pegaflow_cache_window_requested_blocks",
            "window_seconds"
        ),
        windows.clone().into()
    );
    let distinct = by(
        &metrics,
        "pegaflow_cache_window_distinct_blocks",
        "window_seconds",
    );
    assert_eq!(distinct, windows.map(|(window, _)| (window, 10)).into());
    let ceiling = metrics["pegaflow_cache_hit_ceiling_ratio{window_seconds=\"900\"}"];
    assert_eq!(ceiling, 12.0 / 22.0);

    let status = daemon.status().await;
    assert_eq!(status["blocks"]["miss"], 20);
    let reasons = status["demand"]["missed"].as_array().unwrap().iter();
    assert_eq!(reasons.map(|of| of["blocks"].as_u64().unwrap()).sum::<u64>(), 20);
    assert_eq!(status["demand"]["ceilings"][2]["hit_percent"], 54.55);
}

/// Only blocks that lookups ask for are missed for want of room: 64 MiB of pool against twice as much.
#[tokio::test]
async fn what_twice_the_pool_would_have_hit_is_known() {
    let daemon = Daemon::start();
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let page_bytes = engine.workers[0].memory.page_bytes();
    let pool_blocks = daemon.ready.pool_bytes / page_bytes.next_multiple_of(4096);
    let hashes = fresh_hashes(pool_blocks as usize * 3 / 2);
    let ids: Vec<_> = (0..BLOCKS).collect();
    for part in hashes.chunks(BLOCKS as usize) {
        engine.save(part, &ids[..part.len()]).await;
    }
    let first = &hashes[..64];
    engine.lookup(first).await;
    let told = metrics(&daemon.ready.http_addr);
    let missed = nonzero(by(&told, "pegaflow_cache_missed_blocks_total", "reason"));
    assert_eq!(missed, [("room".to_owned(), 64)]);
    let ghosts = by(&told, "pegaflow_cache_ghost_hits_total", "pool");
    assert_eq!((ghosts["2x"], ghosts["4x"]), (64, 64));
    // What is evicted between two lines of an answer is in the second only.
    eventually("evictions add up", async || {
        let now = metrics(&daemon.ready.http_addr);
        let evicted = by(&now, "pegaflow_cache_evicted_blocks_total", "reason");
        let namespaces = by(&now, "pegaflow_cache_block_evictions_total", "namespace");
        evicted["room"] == namespaces.values().sum::<u64>()
    })
    .await;
}

#[tokio::test]
async fn each_engine_has_its_own_saves_and_loads() {
    let daemon = Daemon::start();
    let shape = |name: &str| Shape {
        name: name.to_owned(),
        ..Shape::with_workers(2)
    };
    let mut saver = Engine::start(daemon.socket(), &shape("saver")).await;
    let mut loader = Engine::start(daemon.socket(), &shape("loader")).await;
    let hashes = fresh_hashes(5);
    saver.save(&hashes, &[0, 1, 2, 3, 4]).await;
    loader.save(&hashes[..3], &[0, 1, 2]).await;
    let lease = loader.lookup(&hashes).await.lease_id;
    for worker in &mut loader.workers {
        worker.load(lease, 0, &[7, 8, 9]).await.unwrap();
    }
    loader.workers[0].load(lease, 0, &[7]).await.unwrap();

    let metrics = metrics(&daemon.ready.http_addr);
    let page = saver.workers[0].memory.page_bytes();
    let expected = [
        ("saves_total", 2, 2),
        ("save_failures_total", 0, 0),
        ("save_blocks_total", 10, 6),
        ("save_bytes_total", 10 * page, 6 * page),
        ("loads_total", 0, 2),
        ("load_failures_total", 0, 1),
        ("load_blocks_total", 0, 6),
        ("load_bytes_total", 0, 6 * page),
        (
            "mapped_bytes",
            2 * u64::from(BLOCKS) * page,
            2 * u64::from(BLOCKS) * page,
        ),
    ];
    for (name, of_saver, of_loader) in expected {
        let values = by(&metrics, &format!("pegaflow_engine_{name}"), "engine");
        assert_eq!(
            (values["saver"], values["loader"]),
            (of_saver, of_loader),
            "{name}"
        );
    }
    let ages = by(&metrics, "pegaflow_engine_last_call_age_seconds", "engine");
    assert!(ages.len() == 2 && ages.values().all(|age| *age < 60), "{ages:?}");
    let attached = by(&metrics, "pegaflow_engine_attached_seconds", "engine");
    assert_eq!(attached.keys().collect::<Vec<_>>(), ["loader", "saver"]);
    let status = daemon.status().await;
    let engines = status["engines"].as_array().unwrap();
    let loads: Vec<_> = engines.iter().map(|engine| &engine["loads"]["blocks"]).collect();
    assert_eq!(loads, [&Value::from(0), &Value::from(6)]);
}

#[tokio::test]
async fn seventy_engines_and_namespaces_have_a_bounded_number_of_series_and_none_is_lost() {
    let daemon = Daemon::start();
    let mut engines = Vec::new();
    for number in 0..70 {
        let shape = Shape {
            name: format!("engine-{number}"),
            ..Shape::new()
        };
        let mut engine = Engine::start(daemon.socket(), &shape).await;
        engine.save(&fresh_hashes(2), &[0, 1]).await;
        engine.lookup(&fresh_hashes(3)).await;
        engines.push(engine);
    }
    let metrics = metrics(&daemon.ready.http_addr);
    let saved = by(&metrics, "pegaflow_engine_save_blocks_total", "engine");
    assert_eq!((saved.len(), saved.values().sum::<u64>()), (65, 140));
    let requested = by(&metrics, "pegaflow_cache_blocks_requested_total", "namespace");
    assert_eq!((requested.len(), requested.values().sum::<u64>()), (65, 210));
    let families: BTreeSet<_> = metrics.keys().map(|sample| sample.split('{').next()).collect();
    for family in families.into_iter().flatten() {
        let series = metrics
            .keys()
            .filter(|sample| sample.split('{').next() == Some(family));
        // Namespaces come with a tier at most.
        assert!(series.count() <= 65 * 4, "{family}");
    }
}

#[tokio::test]
async fn hot_prefixes_and_what_they_are_worth_are_in_the_status() {
    let daemon = Daemon::start();
    let shape = Shape::new();
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let (hot, other) = (fresh_hashes(5), fresh_hashes(1));
    engine.save(&hot[..4], &[0, 1, 2, 3]).await;
    for _ in 0..3 {
        let mut request = lookup_request(engine.scheduler.id(), packed(&hot));
        request.block_compute_ns = Some(2_000_000);
        engine.scheduler.rpc.lookup(request).await.unwrap();
    }
    engine.lookup(&other).await;
    let status = daemon.status().await;
    let prefixes: Vec<_> = status["hot_prefixes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|prefix| {
            let hash = prefix["block_hash"].as_str().unwrap().to_owned();
            let count = |field: &str| prefix[field].as_u64().unwrap();
            (hash, count("blocks"), count("lookups"), count("found_lookups"))
        })
        .collect();
    let name = |hash: &[u8; 32]| -> String { hash[..16].iter().map(|byte| format!("{byte:02x}")).collect() };
    assert_eq!(
        prefixes,
        [
            (name(&hot[3]), 4, 3, 3),
            (name(&hot[0]), 1, 3, 3),
            (name(&other[0]), 1, 1, 0),
        ]
    );
    assert_eq!(status["restore"]["recompute_block_s"], 0.002);
    let compute = metrics(&daemon.ready.http_addr)["pegaflow_recompute_block_seconds"];
    assert_eq!(compute, 0.002);
    assert_eq!(status["restore"]["memory_block_s"], Value::Null);
    let free = status["pool"]["largest_free_bytes"].as_u64().unwrap();
    let used = status["pool"]["used_bytes"].as_u64().unwrap();
    assert!(free > 0 && free <= status["pool"]["bytes"].as_u64().unwrap() - used);
}
