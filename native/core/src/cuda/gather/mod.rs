//! Many small runs as one: an engine collects blocks in a ring of its GPU, which the daemon copies page by page, and spreads
//! what the daemon copied into the ring.
//!
//! It runs **in the engine's process**: a kernel of another one would have the GPU switch between both, which doubles the time of
//! the engine's steps.

mod kernel;

use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use self::kernel::Kernel;
use super::device_memory::DeviceMemory;
use super::event::Event;
use super::export::{Export, StreamPoint};
use super::ipc::MemoryHandle;
use super::queue::Queue;
use crate::error::{Error, ErrorKind, Result};
use crate::layout::BlockLayout;

/// Bytes of a ring, where its pages are not as large that it has to be larger: four moves, of which each keeps the link busy for
/// 0.3 ms.
pub const RING_BYTES: u64 = 64 << 20;
/// The most pages of one move: a kernel's parameters hold them.
pub const PAGES_PER_MOVE: usize = 256;

/// As measured: more take nothing from the link's rate, but from the model.
const THREAD_BLOCKS: u32 = 32;
const THREADS: u32 = 512;
/// Slots begin at multiples of it, so that runs keep the alignment that they have in their pages.
const SLOT_ALIGNMENT: u64 = 256;
/// A smaller allocation may be a part of one, which the daemon would map whole.
const ALLOCATION_UNIT: u64 = 2 << 20;
/// Slots of the smallest ring: one is gathered into while the daemon copies the other.
const FEWEST_SLOTS: u64 = 2;

/// A ring as the daemon has to know it: slot `s` begins `s * slot_stride` bytes behind the first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ring {
    /// Names its allocation.
    pub handle: MemoryHandle,
    /// Pages that it holds.
    pub slots: u32,
    /// Bytes from one to the next.
    pub slot_stride: u64,
}

/// Moves pages between the blocks of one layout and a ring.
pub struct Gather {
    export: Arc<Export>,
    gathers: Queue,
    scatters: Queue,
    kernel: Kernel,
    ring: Ring,
    slots: DeviceMemory,
    /// The layout's runs.
    runs: DeviceMemory,
    run_count: u32,
}

/// A scatter that was begun.
#[derive(Debug)]
pub struct Scatter {
    end: Event,
}

/// As `Moves` in gather.cu.
#[repr(C)]
struct Moves {
    count: u32,
    pairs: [[u32; 2]; PAGES_PER_MOVE],
}

impl Gather {
    /// Makes a ring for pages of this layout, whose addresses are those of this process, in the memory that `export` exports.
    ///
    /// # Errors
    /// `NoSpace` where the GPU has no room for it, else what the driver says.
    pub fn new(export: &Arc<Export>, layout: &BlockLayout) -> Result<Self> {
        let gpu = export.gpu();
        let slot_stride = layout.page_bytes().next_multiple_of(SLOT_ALIGNMENT);
        let slots = (RING_BYTES / slot_stride)
            .max(FEWEST_SLOTS)
            .min(u64::from(layout.num_blocks()).max(FEWEST_SLOTS)) as u32;
        let bytes = slot_stride * u64::from(slots);
        let memory = DeviceMemory::new(gpu, bytes.next_multiple_of(ALLOCATION_UNIT))?;
        let mut runs = Vec::new();
        for (run, block_stride) in layout.copy_runs(0)?.zip(layout.block_strides()) {
            // As `Run` in gather.cu.
            runs.extend([run.address, block_stride, run.page_offset, run.length].map(u64::to_le_bytes));
        }
        let run_count = (runs.len() / 4) as u32;
        Ok(Self {
            gathers: Queue::of_least_priority(gpu)?,
            scatters: Queue::of_least_priority(gpu)?,
            kernel: Kernel::load(gpu)?,
            ring: Ring {
                handle: memory.export()?,
                slots,
                slot_stride,
            },
            slots: memory,
            runs: DeviceMemory::holding(gpu, runs.as_flattened())?,
            run_count,
            export: Arc::clone(export),
        })
    }

    /// The ring, for the daemon.
    pub fn ring(&self) -> Ring {
        self.ring
    }

    /// Begins to collect blocks in slots, once the stream has come to `after`. The point behind it; None when all events are in use.
    ///
    /// # Errors
    /// `Limit` above [`PAGES_PER_MOVE`], else what the driver says.
    pub fn gather(&self, pages: &[(u32, u32)], after: &StreamPoint) -> Result<Option<StreamPoint>> {
        self.begin(&self.gathers, pages, after, false)?;
        self.export.record(self.gathers.stream().addr() as u64)
    }

    /// Begins to spread slots to blocks, once the stream has come to `after`.
    ///
    /// # Errors
    /// As [`gather`](Self::gather).
    pub fn scatter(&self, pages: &[(u32, u32)], after: &StreamPoint) -> Result<Scatter> {
        let end = Event::new(self.export.gpu())?;
        self.begin(&self.scatters, pages, after, true)?;
        end.record(self.scatters.stream())?;
        Ok(Scatter { end })
    }

    fn begin(
        &self,
        queue: &Queue,
        pages: &[(u32, u32)],
        after: &StreamPoint,
        is_scatter: bool,
    ) -> Result<()> {
        let mut moves = Moves {
            count: pages.len() as u32,
            pairs: [[0; 2]; PAGES_PER_MOVE],
        };
        if pages.len() > PAGES_PER_MOVE {
            return Err(Error::new(
                ErrorKind::Limit,
                format!(
                    "{} pages of one move: at most {PAGES_PER_MOVE} are allowed",
                    pages.len()
                ),
            ));
        }
        for (pair, &(block, slot)) in moves.pairs.iter_mut().zip(pages) {
            *pair = [block, slot];
        }
        after.hold(queue)?;
        self.launch(queue, &mut moves, is_scatter)
    }

    fn launch(&self, queue: &Queue, moves: &mut Moves, is_scatter: bool) -> Result<()> {
        let gpu = self.export.gpu();
        let (mut runs, mut run_count) = (self.runs.address(), self.run_count);
        let (mut ring, mut stride) = (self.slots.address(), self.ring.slot_stride);
        let mut is_scatter = u32::from(is_scatter);
        let mut arguments: [*mut c_void; 6] = [
            (&raw mut runs).cast(),
            (&raw mut run_count).cast(),
            (&raw mut ring).cast(),
            (&raw mut stride).cast(),
            (&raw mut is_scatter).cast(),
            ptr::from_mut(moves).cast(),
        ];
        let blocks = THREAD_BLOCKS.min(moves.count.saturating_mul(run_count).max(1));
        let _entered = gpu.enter()?;
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: the arguments are those of the kernel, which are read before the call returns; what it moves is the engine's own,
        // and whoever has the blocks and slots moved does not let go of them before its end.
        let code = unsafe {
            (gpu.calls.launch)(
                self.kernel.function(),
                blocks,
                1,
                1,
                THREADS,
                1,
                1,
                0,
                queue.stream(),
                arguments.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        gpu.calls.check("begin to move blocks", code)
    }
}

/// No kernel runs any more when the memory goes.
impl Drop for Gather {
    fn drop(&mut self) {
        for queue in [&self.gathers, &self.scatters] {
            let ended = Event::new(self.export.gpu()).and_then(|end| {
                end.record(queue.stream())?;
                end.wait(Instant::now(), Duration::ZERO)
            });
            if let Err(error) = ended {
                tracing::warn!("{error}");
            }
        }
    }
}

impl fmt::Debug for Gather {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gather")
            .field("ring", &self.ring)
            .field("run_count", &self.run_count)
            .finish_non_exhaustive()
    }
}

impl Scatter {
    /// Whether all bytes are in their blocks.
    ///
    /// # Errors
    /// What the driver says: whether it has ended is then unknown, and nothing works with the GPU in this process any more.
    pub fn has_ended(&self) -> Result<bool> {
        self.end.has_passed()
    }
}
