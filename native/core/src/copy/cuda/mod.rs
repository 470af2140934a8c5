//! Memory of another process on a GPU, by CUDA IPC and the GPU's copy engines.

mod begun;
mod memory;
mod plan;
mod way;

use std::fmt;
use std::sync::Arc;

use self::begun::CudaCopying;
use self::memory::Opened;
use self::plan::Plan;
use self::way::Choice;
use super::{CopyEngine, Copying, LoadPage, Pins, SavePage};
use crate::cuda::{CopyWay, Direction, EngineSnapshot, Gpus, RingSnapshot, end_process};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::BlockLayout;
use crate::pool::PagePtr;
use crate::process::PeerProcess;
use crate::sync::Mutex;

pub use memory::{CudaLayer, CudaMemory};

/// Bytes of one call: what is between two calls hardly counts, and a revoked grant is given back within two milliseconds.
const BATCH_BYTES: u64 = 32 << 20;
/// Where a rate is set, calls are as small as to come so often: engines feel short copies less.
const SLOW_BATCHES_PER_S: u64 = 500;
const SMALLEST_BATCH_BYTES: u64 = 1 << 20;
/// One call's copies run while others' are submitted, or their pages reserved, verified or sealed.
const LANES: usize = 3;
/// Submitting small runs takes a thread longer than the link takes to copy them.
const LANES_OF_SMALL_RUNS: usize = 4;
const SMALL_RUN_BYTES: u64 = 256 << 10;
/// Looking through the runs of so many takes some ten microseconds too.
const PAGES_AT_ONCE: usize = 64;
/// Submitting so many takes some ten microseconds.
const PIECES_AT_ONCE: usize = 16;

/// Copies between the memory of one process on a GPU and pages.
///
/// When the GPU is lost, which is when nobody can tell whether a copy has ended, this process ends: that ends every copy, and
/// the next daemon takes the pool over.
pub struct CudaCopyEngine {
    process: Arc<PeerProcess>,
    layout: BlockLayout,
    opened: Arc<Opened>,
    /// How it is copied, which operators see while this lives.
    shown: Arc<Mutex<EngineSnapshot>>,
    has_small_runs: bool,
    /// The slots of the engine's ring, where it is used.
    ring: Option<Box<Self>>,
}

impl CudaCopyEngine {
    /// Maps the memory of `process`, in which `layers` describe `num_blocks` blocks, in the order in which a page has them.
    ///
    /// # Errors
    /// `NotFound` for a GPU that the daemon does not see, `Invalid` for layers outside of the memory.
    pub fn new(
        gpus: &Gpus,
        process: Arc<PeerProcess>,
        memory: &CudaMemory,
        num_blocks: u32,
        layers: Vec<CudaLayer>,
    ) -> Result<Self> {
        let mut opened = Opened::open(gpus, memory).map_err(or_end)?;
        let layers = layers
            .into_iter()
            .map(|layer| opened.place(layer, num_blocks))
            .collect::<Result<Vec<_>>>()?;
        let layout = BlockLayout::new(num_blocks, &layers)?;
        let ring = opened.place_ring(memory.ring.as_ref(), layout.page_bytes())?;
        let Choice {
            way,
            measured,
            ring_bytes_s,
        } = way::choose(&opened, &layout, ring.as_ref()).map_err(or_end)?;
        let ring = ring.zip(ring_bytes_s);
        if ring.is_none() {
            opened.close_ring();
        }
        let runs = layout.copy_runs(0)?.count() as u64;
        let shown = Arc::new(Mutex::new(EngineSnapshot {
            pid: process.identity().pid,
            runs,
            page_bytes: layout.page_bytes(),
            copy_way: way,
            measured,
            ring: ring.as_ref().map(|(layout, bytes_s)| RingSnapshot {
                bytes: layout.page_bytes() * u64::from(layout.num_blocks()),
                bytes_s: *bytes_s,
            }),
        }));
        opened.device.show(&shown);
        let opened = Arc::new(opened);
        let ring = ring.map(|(layout, _)| {
            Box::new(Self {
                process: Arc::clone(&process),
                layout,
                opened: Arc::clone(&opened),
                shown: Arc::clone(&shown),
                has_small_runs: false,
                ring: None,
            })
        });
        Ok(Self {
            process,
            has_small_runs: layout.page_bytes() < runs * SMALL_RUN_BYTES,
            layout,
            opened,
            shown,
            ring,
        })
    }

    fn copy(&self, direction: Direction, pages: impl Iterator<Item = (u32, PagePtr)>) -> Result<()> {
        let plan = self.plan(pages)?;
        self.process.check_alive()?;
        self.run(direction, &plan).map_err(or_end)?;
        // What was read of a process that ended meanwhile is still its bytes, but nobody is there to vouch for them.
        self.process.check_alive()
    }

    fn plan(&self, pages: impl Iterator<Item = (u32, PagePtr)>) -> Result<Plan> {
        let mut plan = Plan::default();
        for (block, page) in pages {
            self.layout.check_page(block, page)?;
            for run in self.layout.copy_runs(block)? {
                plan.push(page, run);
            }
        }
        Ok(plan)
    }

    fn run(&self, direction: Direction, plan: &Plan) -> Result<()> {
        let device = &self.opened.device;
        device.pace.wait(plan.bytes());
        let ways = plan.part(&device.pool);
        let streams = self.opened.streams(direction);
        let way = self.shown.lock().copy_way;
        let used = streams.copy(way, &ways.direct)?;
        self.show(way, used);
        if ways.staged.is_empty() {
            return Ok(());
        }
        device
            .staging(direction)
            .lock()
            .copy(streams, direction, &ways.staged)
    }

    /// What was refused once is not tried again for this engine.
    fn show(&self, way: CopyWay, used: CopyWay) {
        if used != way {
            self.shown.lock().copy_way = used;
        }
    }
}

impl CopyEngine for CudaCopyEngine {
    fn layout(&self) -> &BlockLayout {
        &self.layout
    }

    fn read(&self, pages: &[SavePage<'_>]) -> Result<()> {
        let pages = pages.iter().map(|page| (page.block(), page.page()));
        self.copy(Direction::ToHost, pages)
    }

    fn write(&self, pages: &[LoadPage<'_>]) -> Result<()> {
        let pages = pages.iter().map(|page| (page.block(), page.page()));
        self.copy(Direction::ToDevice, pages)
    }

    fn begin_write(&self, pages: &[LoadPage<'_>], pins: &Pins) -> Result<Option<Box<dyn Copying>>> {
        let device = &self.opened.device;
        if device.pace.bytes_per_s().is_some() || pages.len() > PAGES_AT_ONCE {
            return Ok(None);
        }
        let plan = self.plan(pages.iter().map(|page| (page.block(), page.page())))?;
        let Some(pieces) = plan.soon(PIECES_AT_ONCE, &device.pool) else {
            return Ok(None);
        };
        self.process.check_alive()?;
        let way = self.shown.lock().copy_way;
        let begun = CudaCopying::begin(&self.opened, &self.process, way, &pieces, pins);
        let (copying, used) = begun.map_err(or_end)?;
        self.show(way, used);
        Ok(Some(Box::new(copying)))
    }

    fn batch_bytes(&self) -> u64 {
        let pace = &self.opened.device.pace;
        pace.bytes_per_s().map_or(BATCH_BYTES, |rate| {
            (rate / SLOW_BATCHES_PER_S).clamp(SMALLEST_BATCH_BYTES, BATCH_BYTES)
        })
    }

    fn lanes(&self) -> usize {
        if self.has_small_runs {
            LANES_OF_SMALL_RUNS
        } else {
            LANES
        }
    }

    fn ring(&self) -> Option<&dyn CopyEngine> {
        self.ring.as_deref().map(|ring| ring as &dyn CopyEngine)
    }

    fn points(&self) -> u32 {
        self.opened.events.len() as u32
    }

    fn has_passed(&self, point: u32) -> Result<bool> {
        let event = self.opened.events.get(point as usize).ok_or_else(|| {
            Error::new(
                ErrorKind::Invalid,
                format!("point {point} is not below the engine's {} points", self.points()),
            )
        })?;
        self.process.check_alive()?;
        event.has_passed().map_err(or_end)
    }
}

impl fmt::Debug for CudaCopyEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaCopyEngine")
            .field("process", &self.process)
            .field("gpu", &self.opened.device.gpu)
            .finish_non_exhaustive()
    }
}

impl Drop for CudaCopyEngine {
    fn drop(&mut self) {
        // The engine holds the last but one part of it: no call of its own is under way.
        self.opened.device.close(Box::new(Arc::clone(&self.opened)));
    }
}

fn or_end(error: Error) -> Error {
    if error.kind() == ErrorKind::GpuLost {
        end_process(&error);
    }
    error
}
