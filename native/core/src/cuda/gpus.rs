//! All GPUs of the machine, opened in the background.

use std::any::Any;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, OnceLock, Weak};
use std::thread;

use super::gpu::{Gpu, GpuUuid};
use super::pace::Pace;
use super::pinned::PinnedPool;
use super::round_trip::round_trips;
use super::settings::{CopyStrategy, CopyWay, GpuSettings};
use super::staging::Staging;
use super::stream::Direction;
use super::usage::Usage;
use crate::error::{Error, ErrorKind, Result};
use crate::self_test::SelfTest;
use crate::store::Store;
use crate::sync::{Condvar, Mutex};

/// A GPU, with what all engines on it share.
pub(crate) struct Device {
    pub(crate) gpu: Arc<Gpu>,
    pub(crate) pool: Arc<PinnedPool>,
    pub(crate) pace: Pace,
    /// What is set.
    pub(crate) strategy: CopyStrategy,
    own_bytes: OnceLock<u64>,
    engines: Mutex<Vec<Weak<Mutex<EngineSnapshot>>>>,
    self_tests: Vec<SelfTest>,
    to_host: Mutex<Staging>,
    to_device: Mutex<Staging>,
    closing: Sender<Box<dyn Any + Send>>,
}

impl Device {
    fn open(gpu: Arc<Gpu>, pool: &Arc<PinnedPool>, settings: GpuSettings) -> Result<Arc<Self>> {
        let (closing, left) = mpsc::channel::<Box<dyn Any + Send>>();
        thread::Builder::new()
            .name("pega-gpu-close".into())
            .spawn(move || left.into_iter().for_each(drop))
            .map_err(|error| Error::io("start the thread that lets go of engines' memory", error))?;
        Ok(Arc::new(Self {
            self_tests: round_trips(&gpu),
            to_host: Mutex::new(Staging::new(&gpu)?),
            to_device: Mutex::new(Staging::new(&gpu)?),
            pool: Arc::clone(pool),
            pace: Pace::new(settings.max_rate),
            strategy: settings.strategy,
            own_bytes: OnceLock::new(),
            engines: Mutex::default(),
            gpu,
            closing,
        }))
    }

    /// The buffer for copies from and to memory that is not pinned.
    pub(crate) fn staging(&self, direction: Direction) -> &Mutex<Staging> {
        match direction {
            Direction::ToHost => &self.to_host,
            Direction::ToDevice => &self.to_device,
        }
    }

    /// Shows an engine to operators for as long as the caller keeps it.
    pub(crate) fn show(&self, engine: &Arc<Mutex<EngineSnapshot>>) {
        let mut engines = self.engines.lock();
        engines.retain(|engine| engine.strong_count() > 0);
        engines.push(Arc::downgrade(engine));
    }

    fn engines(&self) -> Vec<EngineSnapshot> {
        let engines = self.engines.lock();
        engines
            .iter()
            .filter_map(|engine| engine.upgrade().map(|engine| engine.lock().clone()))
            .collect()
    }

    /// Has a thread of its own drop this: unmapping memory takes milliseconds, and whoever ends a session must not wait for it.
    pub(crate) fn close(&self, left: Box<dyn Any + Send>) {
        // The thread lives as long as self; without it the value is dropped here.
        drop(self.closing.send(left));
    }
}

/// What is known of the machine's GPUs.
enum State {
    Starting,
    None(String),
    Ready(Vec<Arc<Device>>, Arc<PinnedPool>),
    Closed,
}

/// The machine's GPUs.
pub struct Gpus {
    state: Mutex<State>,
    changed: Condvar,
}

/// One GPU, for operators.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuSnapshot {
    /// As nvidia-smi has it.
    pub uuid: String,
    /// Its product name.
    pub name: String,
    /// Bytes of its memory that this process took when it began; None where the driver does not say.
    pub own_bytes: Option<u64>,
    /// Whether it is shared through MPS, where copies may outlive a killed daemon.
    pub is_shared_by_mps: bool,
    /// The engines that have memory on it.
    pub engines: Vec<EngineSnapshot>,
}

/// How the memory of one process on a GPU is copied, for operators.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineSnapshot {
    /// The process.
    pub pid: u32,
    /// Contiguous runs of one block.
    pub runs: u64,
    /// Bytes of one block.
    pub page_bytes: u64,
    /// How its copies are handed to the driver.
    pub copy_way: CopyWay,
    /// Bytes per second of each way that was measured.
    pub measured: Vec<(CopyWay, f64)>,
    /// The ring by which they go.
    pub ring: Option<RingSnapshot>,
}

/// A ring in which an engine collects its blocks, for operators.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RingSnapshot {
    /// Its bytes, of the engine's memory.
    pub bytes: u64,
    /// Bytes per second that were measured out of it.
    pub bytes_s: f64,
}

/// The GPUs at one time, for operators.
#[derive(Debug, Clone, PartialEq)]
pub struct GpusSnapshot {
    /// `starting`, `ready` or `none`.
    pub state: &'static str,
    /// Why there are none.
    pub reason: Option<String>,
    /// Those with a context of this process.
    pub devices: Vec<GpuSnapshot>,
    /// Bytes of the pool that are pinned.
    pub pinned_bytes: u64,
    /// What came of the round trips on each when it was opened.
    pub self_tests: Vec<SelfTest>,
}

impl Gpus {
    /// Begins to open the GPUs that this process sees, and then to pin the store's pool for them.
    ///
    /// # Errors
    /// `Io` when the system has no more threads; that there is no GPU is no error.
    pub fn start(store: &Arc<Store>, settings: GpuSettings) -> Result<Arc<Self>> {
        let gpus = Arc::new(Self {
            state: Mutex::new(State::Starting),
            changed: Condvar::new(),
        });
        let (opening, store) = (Arc::clone(&gpus), Arc::clone(store));
        thread::Builder::new()
            .name("pega-gpu-start".into())
            .spawn(move || {
                let state = open_all(store, settings).unwrap_or_else(|error| {
                    tracing::info!("no GPU is used: {error}");
                    State::None(error.message().to_owned())
                });
                opening.settle(state);
            })
            .map_err(|error| Error::io("start the thread that opens the GPUs", error))?;
        Ok(gpus)
    }

    /// The GPU with this UUID, once all are open.
    ///
    /// # Errors
    /// `NotFound` when there is none, with the reason.
    pub(crate) fn find(&self, uuid: GpuUuid) -> Result<Arc<Device>> {
        let mut state = self.state.lock();
        while matches!(*state, State::Starting) {
            self.changed.wait(&mut state);
        }
        let not_found = |why: &str| {
            Error::new(
                ErrorKind::NotFound,
                format!("{uuid} cannot be used by the daemon: {why}"),
            )
        };
        match &*state {
            State::Ready(devices, _) => devices
                .iter()
                .find(|device| device.gpu.uuid() == uuid)
                .cloned()
                .ok_or_else(|| not_found("it does not see it; start it without CUDA_VISIBLE_DEVICES")),
            State::None(why) => Err(not_found(why)),
            State::Starting | State::Closed => Err(not_found("it is ending")),
        }
    }

    /// The GPUs now.
    pub fn snapshot(&self) -> GpusSnapshot {
        let mut snapshot = GpusSnapshot {
            state: "none",
            reason: None,
            devices: Vec::new(),
            pinned_bytes: 0,
            self_tests: Vec::new(),
        };
        match &*self.state.lock() {
            State::Starting => snapshot.state = "starting",
            State::None(why) => snapshot.reason = Some(why.clone()),
            State::Ready(devices, pool) => {
                snapshot.state = "ready";
                snapshot.pinned_bytes = pool.pinned_bytes();
                snapshot.self_tests = devices
                    .iter()
                    .flat_map(|device| device.self_tests.iter().cloned())
                    .collect();
                snapshot.devices = devices
                    .iter()
                    .map(|device| GpuSnapshot {
                        uuid: device.gpu.uuid().to_string(),
                        name: device.gpu.name().to_owned(),
                        own_bytes: device.own_bytes.get().copied(),
                        is_shared_by_mps: device.gpu.is_shared_by_mps(),
                        engines: device.engines(),
                    })
                    .collect();
            }
            State::Closed => snapshot.reason = Some("the daemon is ending".to_owned()),
        }
        snapshot
    }

    /// Lets go of the pool's memory. No copy may be under way.
    pub fn close(&self) {
        let mut state = self.state.lock();
        while matches!(*state, State::Starting) {
            self.changed.wait(&mut state);
        }
        let state = std::mem::replace(&mut *state, State::Closed);
        if let State::Ready(_, pool) = state {
            pool.close();
        }
    }

    fn settle(&self, state: State) {
        *self.state.lock() = state;
        self.changed.notify_all();
    }
}

impl std::fmt::Debug for Gpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.snapshot().fmt(f)
    }
}

fn open_all(store: Arc<Store>, settings: GpuSettings) -> Result<State> {
    let usage = Usage::open();
    let used = |uuid| usage.as_ref().and_then(|usage| usage.used_bytes(uuid));
    let (mut gpus, mut used_before) = (Vec::new(), Vec::new());
    for ordinal in 0..Gpu::count()? {
        used_before.push(used(Gpu::uuid_of(ordinal)?));
        gpus.push(Arc::new(Gpu::open(ordinal)?));
    }
    let Some(first) = gpus.first() else {
        return Err(Error::new(ErrorKind::NotFound, "the NVIDIA driver sees no GPU"));
    };
    let pool = PinnedPool::start(first, store)?;
    for gpu in &gpus {
        tracing::info!(gpu = gpu.name(), uuid = %gpu.uuid(), "a GPU is ready");
        if gpu.is_shared_by_mps() {
            tracing::warn!(
                "{} is shared through MPS, where copies may outlive a killed daemon: engines on it are not safe from that",
                gpu.uuid()
            );
        }
    }
    let devices = gpus
        .into_iter()
        .zip(used_before)
        .map(|(gpu, before)| {
            let device = Device::open(gpu, &pool, settings)?;
            if let Some((before, now)) = before.zip(used(device.gpu.uuid())) {
                device.own_bytes.set(now.saturating_sub(before)).ok();
            }
            Ok(device)
        })
        .collect::<Result<_>>()?;
    Ok(State::Ready(devices, pool))
}
