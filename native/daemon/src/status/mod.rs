//! The status document: `Control.Status` and `GET /v1/status`. Its schema is pegaflow/schemas/status.schema.json.

mod demand;
mod gpus;
mod namespaces;
mod operations;
mod pool;
mod readiness;
mod self_test;
mod ssd;
mod what_if;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, UNIX_EPOCH};

use pegaflow_core::error::{Error, ErrorKind, Result};
use serde::Serialize;

use crate::boot::VERSION;
use crate::config::DaemonConfig;
use crate::daemon::Daemon;
use crate::recording::RecordingSnapshot;
use crate::service_manager;
use crate::session::EngineSnapshot;
use crate::telemetry::{HotPrefix, Restore, TransferMetrics};
use demand::Demand;
use gpus::Gpus;
use namespaces::Namespace;
use operations::Operation;
use pool::{Checksums, Pool, TakenOver};
use self_test::SelfTest;
use ssd::Ssd;

pub(crate) use readiness::{Readiness, State};
pub(crate) use what_if::WhatIf;

/// The form of the document; an incompatible change has another number.
const SCHEMA: &str = "pegaflow.status/1";

/// The document of this daemon now.
///
/// # Errors
/// `Io` for what JSON cannot hold, as a path that is not UTF-8.
pub(crate) fn json(daemon: &Daemon) -> Result<String> {
    serde_json::to_string(&StatusDocument::of(daemon))
        .map_err(|error| Error::new(ErrorKind::Io, format!("the status cannot be written: {error}")))
}

#[derive(Debug, Serialize)]
struct StatusDocument<'a> {
    schema: &'static str,
    version: &'static str,
    pid: u32,
    boot_id: String,
    started_at: f64,
    uptime_s: f64,
    #[serde(flatten)]
    readiness: Readiness,
    socket: PathBuf,
    http_addr: String,
    supervised: bool,
    self_tests: Vec<SelfTest>,
    /// The number of the last event, so that readers of events need not ask for them in vain.
    last_event: u64,
    pool: Pool,
    /// None without an ssd tier.
    ssd: Option<Ssd>,
    gpus: Gpus,
    taken_over: Option<TakenOver>,
    checksums: Checksums,
    blocks: Blocks,
    demand: Demand,
    what_if: WhatIf,
    hot_prefixes: Vec<HotPrefix>,
    restore: Restore,
    /// None: lookups are not recorded.
    recording: Option<RecordingSnapshot>,
    saves: Transfers,
    loads: Transfers,
    leases: Leases,
    operations: Vec<Operation>,
    engines: Vec<EngineSnapshot>,
    namespaces: Vec<Namespace>,
    config: &'a DaemonConfig,
}

#[derive(Debug, Serialize)]
struct Blocks {
    requested: u64,
    memory: u64,
    ssd: u64,
    remote: u64,
    miss: u64,
}

#[derive(Debug, Serialize)]
struct Transfers {
    transfers: u64,
    failures: u64,
    blocks: u64,
    bytes: u64,
    in_flight: i64,
    p50_ms: Option<f64>,
    p95_ms: Option<f64>,
    p99_ms: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Leases {
    held: u64,
    blocks: u64,
    bytes: u64,
    oldest_s: Option<f64>,
}

impl<'a> StatusDocument<'a> {
    fn of(daemon: &'a Daemon) -> Self {
        let mut store = daemon.store.snapshot();
        let warming = daemon.store.warming().map(|warm| warm.progress());
        let requested = daemon.metrics.blocks.total();
        let self_tests = daemon.self_tests();
        let leases = daemon.leases.snapshot(Instant::now());
        let is_resized = daemon.is_pool_resized.load(Ordering::Relaxed);
        Self {
            schema: SCHEMA,
            version: VERSION,
            pid: daemon.boot.process.pid,
            boot_id: daemon.boot.id_text(),
            started_at: daemon
                .boot
                .started_at
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default()
                .as_secs_f64(),
            uptime_s: daemon.boot.started.elapsed().as_secs_f64(),
            readiness: Readiness::new(
                daemon.lifecycle.phase(),
                &store.pool,
                store.tier.as_ref(),
                &self_tests,
            ),
            self_tests: self_tests.into_iter().map(SelfTest::of).collect(),
            last_event: daemon.events.last(),
            socket: daemon.config.socket.clone(),
            http_addr: daemon.http_addr.to_string(),
            supervised: service_manager::is_there(),
            blocks: Blocks {
                requested: requested.requested(),
                memory: requested.memory,
                ssd: requested.ssd,
                remote: requested.remote,
                miss: requested.miss,
            },
            demand: Demand::of(&daemon.store.demand()),
            what_if: WhatIf::of(&daemon.store),
            hot_prefixes: daemon.metrics.prefixes.hottest(),
            restore: Restore::of(daemon),
            recording: daemon.recording.snapshot(),
            saves: Transfers::of(&daemon.metrics.saves),
            loads: Transfers::of(&daemon.metrics.loads),
            leases: Leases {
                held: leases.leases,
                blocks: leases.blocks,
                bytes: leases.bytes,
                oldest_s: leases.oldest.as_ref().map(Duration::as_secs_f64),
            },
            operations: Operation::all(&daemon.operations),
            engines: daemon.sessions.snapshot(),
            namespaces: Namespace::all(
                &store.spaces,
                &daemon.store.ssd().map(|ssd| ssd.spaces()).unwrap_or_default(),
                &daemon.store.namespaces(),
            ),
            taken_over: store.taken_over.map(TakenOver::of),
            checksums: Checksums::of(&store.checksums),
            ssd: store
                .tier
                .take()
                .map(|tier| Ssd::of(tier, daemon.pending.count(), warming, daemon.ssd_room.shortages())),
            pool: Pool::of(store, is_resized, daemon.store.memory_nodes()),
            gpus: Gpus::of(daemon.gpus.snapshot()),
            config: &daemon.config,
        }
    }
}

impl Transfers {
    fn of(metrics: &TransferMetrics) -> Self {
        let quantile_ms = |share| metrics.duration.quantile_s(share).map(|seconds| seconds * 1e3);
        Self {
            transfers: metrics.duration.count(),
            failures: metrics.failures.get(),
            blocks: metrics.copied_blocks.get(),
            bytes: metrics.bytes.get(),
            in_flight: metrics.in_flight.get(),
            p50_ms: quantile_ms(0.5),
            p95_ms: quantile_ms(0.95),
            p99_ms: quantile_ms(0.99),
        }
    }
}
