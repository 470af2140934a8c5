//! The daemon's life from start to end.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pegaflow_core::count::counted;
use pegaflow_core::error::{Error, Result};
use pegaflow_core::store::WarmRequest;
use serde::Serialize;
use tokio::runtime::Builder;
use tokio::time::{MissedTickBehavior, interval};

use crate::boot::Boot;
use crate::config::DaemonConfig;
use crate::daemon::Daemon;
use crate::events::{EventKind, EventLevel, EventWatch};
use crate::operator::{self, Operator, Token};
use crate::otlp::{Exporter, OtlpSettings};
use crate::socket::SocketPlace;
use crate::status::Readiness;
use crate::{check, descriptors, drain, logging, service, service_manager, succession};

/// How often leases are looked at for expiry.
const SWEEP: Duration = Duration::from_secs(1);

/// What a daemon says once it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ready {
    /// Where engines attach.
    pub socket: PathBuf,
    /// host:port of HTTP.
    pub http_addr: String,
    /// The daemon's process.
    pub pid: u32,
    /// Random per start, 16 hexadecimal digits.
    pub boot_id: String,
    /// Bytes of the memory tier, which one that was taken over in another size has soon.
    pub pool_bytes: u64,
    /// What holds the memory tier.
    pub pool_kind: &'static str,
    /// The pool's file; None for anonymous memory.
    pub pool_path: Option<PathBuf>,
    /// Blocks of an ended daemon's pool that are cached again.
    pub taken_over_blocks: u64,
    /// Bytes of their pages.
    pub taken_over_bytes: u64,
    /// Sentences on what is not as it should be, such as a path of the ssd tier that is offline, or larger than its disk.
    pub warnings: Vec<String>,
}

/// Runs a daemon on this thread until SIGTERM, SIGINT or `Control.Stop`; `on_ready` is called once, when it answers.
///
/// `successor` is the command that starts another one where this one's process ends because its GPU is lost; empty: somebody
/// else does that.
///
/// # Errors
/// `Config` for settings that cannot be used; what `on_ready` says, after a drain.
pub fn run(
    config: DaemonConfig,
    successor: Vec<OsString>,
    on_ready: impl FnOnce(&Ready) -> Result<()>,
) -> Result<()> {
    config.check()?;
    check::ssd_places(&config)?;
    logging::start(&config);
    let connections = descriptors::raise();
    let boot = Boot::new()?;
    succession::prepare(&boot, successor);
    let (mut place, socket) = SocketPlace::take(&config, &boot)?;
    config.http_token_file.as_deref().map(Token::read).transpose()?;
    let otlp = config.otlp_endpoint.as_deref();
    let otlp = otlp
        .map(|endpoint| OtlpSettings::read(endpoint, |name| env::var(name).ok()))
        .transpose()?;
    let http = operator::bind(config.http_addr.as_deref())?;
    let http_addr = http
        .local_addr()
        .map_err(|error| Error::io("serve HTTP", error))?;
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::io("start the daemon's runtime", error))?;
    let daemon = Daemon::open(config, boot, http_addr)?;
    let exporter = otlp
        .map(|settings| Exporter::start(&daemon, settings))
        .transpose()?;
    let operator = Operator::start(&daemon, http, connections.http)?;
    if daemon.config.warm_on_start
        && let Err(error) = daemon.store.warm(WarmRequest::default())
    {
        tracing::warn!("the memory tier is not warmed: {error}");
    }

    let ready = Ready::of(&daemon);
    tracing::info!(socket = %ready.socket.display(), http = ready.http_addr, boot_id = ready.boot_id, "the daemon answers");
    let heard = on_ready(&ready);
    if heard.is_err() {
        // What was taken over is the next daemon's.
        daemon.lifecycle.drain(false);
    }
    let served = runtime.block_on(async {
        let sweeping = tokio::spawn(sweep(Arc::clone(&daemon)));
        let draining = tokio::spawn(drain::drain(Arc::clone(&daemon)));
        let telling = tokio::spawn(service_manager::keep_told(Arc::clone(&daemon)));
        let served = service::serve(Arc::clone(&daemon), &mut place, socket, connections.socket).await;
        if served.is_err() {
            daemon.lifecycle.drain(false);
        }
        // The drain closes the tiers, whatever ended the service.
        drop(draining.await);
        sweeping.abort();
        telling.abort();
        served
    });
    drop(place);
    daemon.lifecycle.ended();
    operator.join();
    if let Some(exporter) = exporter {
        exporter.join();
    }
    tracing::info!("the daemon has ended");
    heard.and(served.map_err(|error| Error::io("serve the socket", error)))
}

impl Ready {
    fn of(daemon: &Daemon) -> Self {
        let store = daemon.store.snapshot();
        let (pool, taken_over) = (store.pool, store.taken_over.unwrap_or_default());
        Self {
            socket: daemon.config.socket.clone(),
            http_addr: daemon.http_addr.to_string(),
            pid: daemon.boot.process.pid,
            boot_id: daemon.boot.id_text(),
            pool_bytes: daemon.store.settled_memory_bytes(),
            pool_kind: pool.kind.name(),
            pool_path: pool.path,
            taken_over_blocks: taken_over.blocks,
            taken_over_bytes: taken_over.bytes,
            warnings: [Readiness::of(daemon).reasons, daemon.ssd_room.shortages()].concat(),
        }
    }
}

/// Ends leases that nobody renewed, and lookups that nobody asks for any more; sees what happened, and looks at paths that have come
/// back.
async fn sweep(daemon: Arc<Daemon>) {
    let mut seen = EventWatch::default();
    let mut ticks = interval(SWEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let expired = daemon.leases.expire(Instant::now());
        seen.look(&daemon);
        if expired > 0 {
            let text = format!(
                "{} expired: nobody renewed in time",
                counted(expired as u64, "lease")
            );
            daemon
                .events
                .add(EventKind::Lease, EventLevel::Warning, None, text);
            tracing::warn!(expired, "leases ended because nobody renewed them");
        }
        daemon.pending.expire(Instant::now());
        if daemon.has_new_room() {
            let daemon = Arc::clone(&daemon);
            // Its disk may not answer.
            drop(tokio::task::spawn_blocking(move || daemon.look_for_room()));
        }
    }
}
