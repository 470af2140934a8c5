//! An engine's memory, from its export to its end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pegaflow_core::copy::{CopyEngine, CudaCopyEngine, CudaLayer, CudaMemory, SavePage};
use pegaflow_core::cuda::GpuUuid;
use pegaflow_core::error::{ErrorKind, Result};
use pegaflow_core::layout::{LayerLayout, Segment};

use crate::conformance;
use crate::engine::{Engine, Exported};
use crate::pool::Daemon;
use crate::stage::Stage;
use crate::stand_in;

/// Memory of an engine, as a daemon reaches it.
pub(crate) struct DeviceMemory<'a> {
    daemon: &'a Daemon,
    engine: &'a Engine,
    bytes: usize,
    pub(crate) exported: Exported,
}

impl<'a> DeviceMemory<'a> {
    pub(crate) fn new(daemon: &'a Daemon, engine: &'a Engine, bytes: usize) -> Self {
        Self {
            daemon,
            engine,
            bytes,
            exported: engine.allocate(bytes),
        }
    }

    pub(crate) fn open(&self, num_blocks: u32, layers: Vec<LayerLayout>) -> Result<CudaCopyEngine> {
        self.open_memory(&self.exported.memory, num_blocks, layers)
    }

    /// With a ring of the engine.
    pub(crate) fn open_with_ring(&self, num_blocks: u32, layers: Vec<LayerLayout>) -> Result<CudaCopyEngine> {
        let Exported {
            address,
            offset,
            mut memory,
        } = self.exported.clone();
        let mut own = layers.clone();
        for layer in &mut own {
            layer.base_address = layer.base_address - offset + address;
        }
        memory.ring = Some(self.engine.open_ring(num_blocks, &own));
        self.open_memory(&memory, num_blocks, layers)
    }

    fn open_memory(
        &self,
        memory: &CudaMemory,
        num_blocks: u32,
        layers: Vec<LayerLayout>,
    ) -> Result<CudaCopyEngine> {
        let layers = layers
            .into_iter()
            .map(|layout| CudaLayer {
                allocation: 0,
                layout,
            })
            .collect();
        let process = Arc::clone(&self.engine.process);
        CudaCopyEngine::new(&self.daemon.gpus, process, memory, num_blocks, layers)
    }

    /// All of it as one block.
    pub(crate) fn whole(&self) -> CudaCopyEngine {
        self.open(1, vec![one_run(self.exported.offset, self.bytes as u64)])
            .unwrap()
    }

    pub(crate) fn read_all(&self) -> Vec<u8> {
        let mut page = vec![0; self.bytes];
        self.whole().read(&[SavePage::from_bytes(0, &mut page)]).unwrap();
        page
    }
}

impl Stage for DeviceMemory<'_> {
    fn base(&self) -> u64 {
        self.exported.offset
    }

    fn peek(&self) -> Vec<u8> {
        self.engine.peek(self.exported.address, self.bytes)
    }

    fn poke(&self, bytes: &[u8]) {
        self.engine.poke(self.exported.address, bytes);
    }

    fn engine(&self, num_blocks: u32, layers: Vec<LayerLayout>) -> Box<dyn CopyEngine> {
        Box::new(self.open(num_blocks, layers).unwrap())
    }
}

impl Drop for DeviceMemory<'_> {
    fn drop(&mut self) {
        if self.engine.process.check_alive().is_ok() {
            self.engine.free(self.exported.address);
        }
    }
}

pub(crate) fn one_run(base_address: u64, length: u64) -> LayerLayout {
    LayerLayout {
        name: "all".into(),
        base_address,
        block_stride: length,
        segments: vec![Segment { offset: 0, length }],
    }
}

pub(crate) fn the_cuda_engine_passes_the_suite() {
    let (daemon, engine) = (Daemon::start(64 << 20), Engine::start());
    conformance::check(|bytes| DeviceMemory::new(&daemon, &engine, bytes));
}

pub(crate) fn memory_that_cannot_be_exported_is_refused_with_the_setting() {
    let refusal = Engine::start().refusal_of_pool();
    assert!(refusal.contains("PYTORCH_CUDA_ALLOC_CONF"), "{refusal}");
}

pub(crate) fn layers_outside_of_the_memory_are_refused() {
    let (daemon, engine) = (Daemon::start(64 << 20), Engine::start());
    let memory = DeviceMemory::new(&daemon, &engine, 2 << 20);
    let end = memory.exported.offset + (2 << 20);
    for (base, length) in [
        (end - 4_095, 4_096),
        (u64::MAX - 4_095, 4_096),
        (end + (1 << 40), 1),
    ] {
        // An allocation may be larger than what was asked for, by less than 2 MiB.
        let base = if base < end { base + (2 << 20) } else { base };
        let error = memory.open(1, vec![one_run(base, length)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(
            error.message().contains("behind the begin of its allocation"),
            "{error}"
        );
    }
}

pub(crate) fn a_gpu_that_the_daemon_does_not_see_is_named() {
    let (daemon, engine) = (Daemon::start(64 << 20), Engine::start());
    let mut memory = DeviceMemory::new(&daemon, &engine, 4_096);
    memory.exported.memory.gpu = GpuUuid([7; 16]);
    let error = memory.open(1, vec![one_run(0, 4_096)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("GPU-07070707-"), "{error}");
    assert!(error.message().contains("CUDA_VISIBLE_DEVICES"), "{error}");
}

pub(crate) fn memory_of_a_killed_engine_is_let_go() {
    let daemon = Daemon::start(64 << 20);
    // What the daemon itself needs for the first engine stays.
    let first = Engine::start();
    DeviceMemory::new(&daemon, &first, 4_096).read_all();
    first.kill();
    let before = daemon.used_device_bytes();
    let engine = Engine::start();
    let memory = DeviceMemory::new(&daemon, &engine, 1 << 30);
    let copies = memory.whole();
    engine.kill();
    assert!(
        daemon.used_device_bytes() >= before + (1 << 29),
        "the mapping keeps it"
    );
    drop(copies);
    // The contract's bound, tenfold on machines that may be busy.
    let bound = if stand_in::is_used() { 50 } else { 5 };
    let deadline = Instant::now() + Duration::from_secs(bound);
    while daemon.used_device_bytes() > before + (64 << 20) {
        assert!(Instant::now() < deadline, "not let go within {bound} s");
        std::thread::sleep(Duration::from_millis(5));
    }
}
