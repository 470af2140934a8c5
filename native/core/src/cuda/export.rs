//! An engine's side: names of its memory for the daemon, and points in its stream.

use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{CUdeviceptr, CUipcMemHandle, CUstream};

use super::driver::{Calls, SUCCESS, driver};
use super::event::{EVENTS, Event};
use super::gpu::{Gpu, GpuUuid};
use super::ipc::{EventHandle, MemoryHandle, of_driver};
use super::queue::Queue;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;

/// `CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL`, `_IS_LEGACY_CUDA_IPC_CAPABLE` and `_MEMPOOL_HANDLE`.
const DEVICE_ORDINAL: u32 = 9;
const IS_IPC_CAPABLE: u32 = 10;
const MEMPOOL_HANDLE: u32 = 17;

/// One allocation of this process that others can map.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExportedAllocation {
    /// Its first byte, in this process.
    pub base: u64,
    /// Its bytes.
    pub bytes: u64,
    /// What names it to other processes.
    pub handle: MemoryHandle,
}

/// Memory of this process on one GPU, and events for its stream, for other processes.
pub struct Export {
    gpu: Arc<Gpu>,
    allocations: Vec<ExportedAllocation>,
    events: Vec<(Event, EventHandle)>,
    /// Events that no point has.
    idle: Mutex<Vec<u32>>,
}

/// A point in this process's stream. Its event is recorded again only after this was dropped.
#[derive(Debug)]
pub struct StreamPoint {
    export: Arc<Export>,
    event: u32,
}

impl StreamPoint {
    /// Whether the stream has come to it, as far as can be told without waiting.
    pub fn has_passed(&self) -> bool {
        let event = self.export.events.get(self.event as usize);
        event.is_some_and(|(event, _)| event.has_passed().unwrap_or(false))
    }

    /// Has the queue do nothing more before the stream has come to it. **Both are this process's**: a stream must never wait for
    /// another one.
    pub(super) fn hold(&self, queue: &Queue) -> Result<()> {
        let Some((event, _)) = self.export.events.get(self.event as usize) else {
            return Ok(());
        };
        event.hold(queue)
    }

    /// The number of its event among [`Export::events`].
    pub fn event(&self) -> u32 {
        self.event
    }
}

impl Drop for StreamPoint {
    fn drop(&mut self) {
        self.export.idle.lock().push(self.event);
    }
}

impl Export {
    /// Exports the allocations that hold these addresses, which must be on one GPU.
    ///
    /// # Errors
    /// `Config` for memory that cannot be exported, with the setting to change; `NotFound` without a driver.
    pub fn new(addresses: impl IntoIterator<Item = u64>) -> Result<Self> {
        let calls = driver()?;
        let mut allocations: Vec<ExportedAllocation> = Vec::new();
        let mut ordinal = None;
        for address in addresses {
            if find(&allocations, address).is_some() {
                continue;
            }
            let on = device_of(calls, address)?;
            if *ordinal.get_or_insert(on) != on {
                return Err(refused("it is on several GPUs: give each worker one"));
            }
            allocations.push(allocation_of(calls, address)?);
        }
        let Some(ordinal) = ordinal else {
            return Err(refused("it has no layers"));
        };
        let gpu = Arc::new(Gpu::open(ordinal)?);
        let entered = gpu.enter()?;
        for allocation in &mut allocations {
            allocation.handle = handle_of(calls, allocation.base)?;
        }
        let events = (0..EVENTS).map(|_| Event::shared(&gpu)).collect::<Result<_>>()?;
        drop(entered);
        Ok(Self {
            gpu,
            allocations,
            events,
            idle: Mutex::new((0..EVENTS as u32).rev().collect()),
        })
    }

    /// The GPU.
    pub fn uuid(&self) -> GpuUuid {
        self.gpu.uuid()
    }

    pub(super) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// The allocations, in the order in which they were found.
    pub fn allocations(&self) -> &[ExportedAllocation] {
        &self.allocations
    }

    /// Which allocation holds this address, and how far from its base.
    pub fn place(&self, address: u64) -> Option<(usize, u64)> {
        find(&self.allocations, address)
    }

    /// What names the events to other processes.
    pub fn events(&self) -> impl Iterator<Item = EventHandle> + '_ {
        self.events.iter().map(|(_, handle)| *handle)
    }

    /// The end of what is in the stream now (`stream` as the CUDA runtime has it, 0 the default one). None when all events are
    /// in use.
    ///
    /// # Errors
    /// What the driver says.
    pub fn record(self: &Arc<Self>, stream: u64) -> Result<Option<StreamPoint>> {
        let Some(event) = self.idle.lock().pop() else {
            return Ok(None);
        };
        let point = StreamPoint {
            export: Arc::clone(self),
            event,
        };
        match self.events.get(event as usize) {
            Some((event, _)) => event.record(stream as usize as CUstream).map(|()| Some(point)),
            None => Ok(None),
        }
    }
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Export")
            .field("gpu", &self.gpu)
            .field("allocations", &self.allocations)
            .finish_non_exhaustive()
    }
}

fn find(allocations: &[ExportedAllocation], address: u64) -> Option<(usize, u64)> {
    allocations
        .iter()
        .position(|allocation| (allocation.base..allocation.base + allocation.bytes).contains(&address))
        .and_then(|index| Some((index, address - allocations.get(index)?.base)))
}

fn refused(why: impl fmt::Display) -> Error {
    Error::new(
        ErrorKind::Config,
        format!("the KV cache cannot be shared with the daemon: {why}"),
    )
}

fn device_of(calls: &Calls, address: CUdeviceptr) -> Result<c_int> {
    let mut ordinal: c_int = -1;
    let code = attribute(calls, DEVICE_ORDINAL, address, (&raw mut ordinal).cast());
    calls.check(&format!("find the GPU that has {address:#x}"), code)?;
    Ok(ordinal)
}

/// The allocation that holds an address, without a handle yet.
fn allocation_of(calls: &Calls, address: CUdeviceptr) -> Result<ExportedAllocation> {
    let mut is_capable: c_int = 0;
    let mut pool: *mut c_void = ptr::null_mut();
    // A driver that does not know an attribute leaves it to the export to fail.
    let answered = attribute(calls, IS_IPC_CAPABLE, address, (&raw mut is_capable).cast());
    attribute(calls, MEMPOOL_HANDLE, address, (&raw mut pool).cast());
    if !pool.is_null() {
        return Err(refused(
            "it is of an asynchronous memory pool, which CUDA IPC cannot export; set PYTORCH_CUDA_ALLOC_CONF=backend:native",
        ));
    }
    if answered == SUCCESS && is_capable == 0 {
        return Err(virtual_memory());
    }
    let (mut base, mut bytes) = (0, 0);
    #[expect(unsafe_code, reason = "a call of the driver")]
    // SAFETY: writes to numbers of ours.
    let code = unsafe { (calls.memory_range)(&raw mut base, &raw mut bytes, address) };
    calls.check(&format!("find the allocation that has {address:#x}"), code)?;
    Ok(ExportedAllocation {
        base,
        bytes: bytes as u64,
        handle: MemoryHandle([0; 64]),
    })
}

pub(super) fn handle_of(calls: &Calls, base: CUdeviceptr) -> Result<MemoryHandle> {
    let mut handle = CUipcMemHandle { reserved: [0; 64] };
    #[expect(unsafe_code, reason = "a call of the driver")]
    // SAFETY: writes to a variable of ours.
    let code = unsafe { (calls.memory_export)(&raw mut handle, base) };
    match calls.check("export the KV cache", code) {
        Ok(()) => Ok(MemoryHandle(of_driver(handle.reserved))),
        Err(error) if error.kind() == ErrorKind::GpuLost => Err(error),
        Err(_) => Err(virtual_memory()),
    }
}

fn virtual_memory() -> Error {
    refused(
        "it is mapped piece by piece, which CUDA IPC cannot export; turn off expandable_segments in \
         PYTORCH_CUDA_ALLOC_CONF and vLLM's sleep mode",
    )
}

fn attribute(calls: &Calls, attribute: u32, address: CUdeviceptr, value: *mut c_void) -> u32 {
    #[expect(unsafe_code, reason = "a call of the driver")]
    // SAFETY: `value` is a variable of the attribute's type, of the caller.
    unsafe {
        (calls.pointer_attribute)(value, attribute, address)
    }
}
