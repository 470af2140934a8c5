//! What all services of one daemon share.

use std::iter;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pegaflow_core::copy::CopyThreads;
use pegaflow_core::count::counted;
use pegaflow_core::cuda::Gpus;
use pegaflow_core::error::Result;
use pegaflow_core::lease::LeaseTable;
use pegaflow_core::self_test::SelfTest;
use pegaflow_core::store::{Store, StoreConfig};

use crate::boot::{Boot, VERSION};
use crate::config::DaemonConfig;
use crate::events::{EventKind, EventLevel, EventLog};
use crate::lifecycle::Lifecycle;
use crate::operation::Operations;
use crate::otlp::Spans;
use crate::recording::Recording;
use crate::session::{PendingLookups, Sessions};
use crate::ssd_room::SsdRoom;
use crate::telemetry::{Direction, Metrics};
use crate::transfer::{Lanes, PointWatch, TransferThreads};

/// One daemon.
#[derive(Debug)]
pub(crate) struct Daemon {
    pub(crate) config: DaemonConfig,
    pub(crate) boot: Boot,
    pub(crate) http_addr: SocketAddr,
    pub(crate) store: Arc<Store>,
    pub(crate) leases: Arc<LeaseTable>,
    pub(crate) pending: Arc<PendingLookups>,
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) copy_threads: Arc<CopyThreads>,
    pub(crate) lanes: Lanes,
    pub(crate) gpus: Arc<Gpus>,
    /// The thread that asks for points lives as long as this.
    _points: PointWatch,
    pub(crate) saves: TransferThreads,
    pub(crate) loads: TransferThreads,
    pub(crate) metrics: Metrics,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) recording: Recording,
    pub(crate) operations: Arc<Operations>,
    pub(crate) events: Arc<EventLog>,
    pub(crate) spans: Arc<Spans>,
    host_test: SelfTest,
    pub(crate) ssd_room: SsdRoom,
    /// Whether an operation gave the pool another size.
    pub(crate) is_pool_resized: AtomicBool,
}

impl Daemon {
    /// Opens the tiers and starts the threads that transfers run on.
    pub(crate) fn open(config: DaemonConfig, boot: Boot, http_addr: SocketAddr) -> Result<Arc<Self>> {
        let store = Store::open(StoreConfig {
            pool_bytes: config.pool_bytes,
            pool_dir: config.pool_dir.clone(),
            socket: config.socket.clone(),
            boot_id: boot.id,
            policy: config.eviction_policy.into(),
            verify: config.verify.into(),
            scrub_period: config.scrub_period()?,
            tier: config.tier(),
        })?;
        let leases = LeaseTable::with_ttl(config.lease_ttl()?);
        let pending = Arc::new(PendingLookups::default());
        let metrics = Metrics::default();
        let points = PointWatch::start()?;
        let is_exporting = config.otlp_endpoint.is_some();
        let events = Arc::new(EventLog::new());
        let copy_threads = CopyThreads::start(config.copy_threads)?;
        let recording = Recording::new(Arc::clone(&events));
        if let Some(directory) = &config.record_dir {
            recording.start(directory, config.record_bytes)?;
        }
        let daemon = Arc::new(Self {
            sessions: Sessions::new(
                Arc::clone(&store),
                Arc::clone(&leases),
                Arc::clone(&pending),
                metrics.clone(),
                Arc::clone(&events),
            ),
            host_test: SelfTest::host(&copy_threads),
            copy_threads,
            lanes: Lanes::start()?,
            gpus: Gpus::start(&store, config.gpu_settings())?,
            saves: TransferThreads::start(Direction::Save, &points)?,
            loads: TransferThreads::start(Direction::Load, &points)?,
            _points: points,
            config,
            boot,
            http_addr,
            store,
            leases,
            pending,
            operations: Arc::new(Operations::new(metrics.operations.clone())),
            metrics,
            lifecycle: Lifecycle::new(),
            events,
            spans: Spans::new(is_exporting),
            ssd_room: SsdRoom::default(),
            recording,
            is_pool_resized: AtomicBool::new(false),
        });
        daemon.look_for_room();
        daemon.tell_start();
        Ok(daemon)
    }

    /// What came of the round trips of random bytes on each copy path that is open by now.
    pub(crate) fn self_tests(&self) -> Vec<SelfTest> {
        let of_gpus = self.gpus.snapshot().self_tests;
        iter::once(self.host_test.clone()).chain(of_gpus).collect()
    }

    fn tell_start(&self) {
        let (pid, socket) = (self.boot.process.pid, self.config.socket.display());
        let text = format!("the daemon started: version {VERSION}, pid {pid}, socket {socket}");
        self.events.add(EventKind::Daemon, EventLevel::Ok, None, text);
        if let Some(taken_over) = self.store.snapshot().taken_over {
            let (blocks, took) = (
                counted(taken_over.blocks, "block"),
                taken_over.duration.as_secs_f64(),
            );
            let text = format!("took {blocks} of the last daemon over in {took:.1} s");
            self.events.add(EventKind::Daemon, EventLevel::Ok, None, text);
        }
    }

    /// Looks whether the ssd tier's file systems can give what its paths may take.
    pub(crate) fn look_for_room(&self) {
        let ssd = self.store.ssd().map(|ssd| ssd.snapshot());
        self.ssd_room.look(&ssd.unwrap_or_default().paths);
    }

    /// Whether a path has come back since it was last looked.
    pub(crate) fn has_new_room(&self) -> bool {
        let ssd = self.store.ssd().map(|ssd| ssd.snapshot());
        ssd.is_some_and(|ssd| self.ssd_room.is_outdated(&ssd.paths))
    }
}
