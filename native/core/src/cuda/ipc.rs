//! Memory and events of another process.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{CUdeviceptr, CUevent, CUipcEventHandle, CUipcMemHandle};

use super::driver::{NOT_READY, SUCCESS};
use super::gpu::Gpu;
use crate::error::{Error, Result};

/// Bytes of a handle, of memory and of events.
pub const HANDLE_BYTES: usize = 64;

/// `CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS`: the one flag there is.
const LAZY_PEER_ACCESS: u32 = 1;

/// Handles mean something within one namespace only.
const ONE_NAMESPACE: &str = "where daemon and engine are in containers, give both the IPC and PID namespace of the host (--ipc=host --pid=host)";

/// Names an allocation of a process to others; the bytes mean something to the driver only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemoryHandle(pub [u8; HANDLE_BYTES]);

/// Names an event of a process to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EventHandle(pub [u8; HANDLE_BYTES]);

pub(super) fn of_driver(bytes: [c_char; HANDLE_BYTES]) -> [u8; HANDLE_BYTES] {
    bytes.map(|byte| byte as u8)
}

fn for_driver(bytes: [u8; HANDLE_BYTES]) -> [c_char; HANDLE_BYTES] {
    bytes.map(|byte| byte as c_char)
}

/// An allocation of another process, mapped until this is dropped.
///
/// **It stays allocated until it is unmapped here, also when its process has ended.**
#[derive(Debug)]
pub(crate) struct Mapping {
    gpu: Arc<Gpu>,
    base: CUdeviceptr,
    bytes: u64,
}

impl Mapping {
    /// Maps the allocation.
    pub(crate) fn open(gpu: &Arc<Gpu>, handle: MemoryHandle) -> Result<Self> {
        let _entered = gpu.enter()?;
        let handle = CUipcMemHandle {
            reserved: for_driver(handle.0),
        };
        let mut base = 0;
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes to a number of ours; a handle that names nothing is an error.
        let code = unsafe { (gpu.calls.memory_import)(&raw mut base, handle, LAZY_PEER_ACCESS) };
        gpu.calls
            .check("map the engine's memory", code)
            .map_err(|error| Error::new(error.kind(), format!("{}; {ONE_NAMESPACE}", error.message())))?;
        let mut mapping = Self {
            gpu: Arc::clone(gpu),
            base,
            bytes: 0,
        };
        let mut bytes = 0;
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes to numbers of ours.
        let code = unsafe { (gpu.calls.memory_range)(ptr::null_mut(), &raw mut bytes, base) };
        gpu.calls.check("ask for the size of the engine's memory", code)?;
        mapping.bytes = bytes as u64;
        Ok(mapping)
    }

    /// Its first byte, as the GPU addresses it in this process.
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// Its bytes, as the driver has them.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let closed = self.gpu.enter().and_then(|_entered| {
            #[expect(unsafe_code, reason = "a call of the driver")]
            // SAFETY: what open mapped; copies hold the engine that owns this, so none is under way.
            let code = unsafe { (self.gpu.calls.memory_close)(self.base) };
            self.gpu.calls.check("unmap an engine's memory", code)
        });
        if let Err(error) = closed {
            tracing::warn!("{error}");
        }
    }
}

/// An event of another process.
#[derive(Debug)]
pub(crate) struct PeerEvent {
    gpu: Arc<Gpu>,
    event: CUevent,
}

#[expect(unsafe_code, reason = "an event is no thread's own")]
// SAFETY: the driver's calls may be made by any thread.
unsafe impl Send for PeerEvent {}
#[expect(unsafe_code, reason = "as for Send")]
// SAFETY: as for Send; events have no state here.
unsafe impl Sync for PeerEvent {}

impl PeerEvent {
    /// Opens the event.
    pub(crate) fn open(gpu: &Arc<Gpu>, handle: EventHandle) -> Result<Self> {
        let _entered = gpu.enter()?;
        let handle = CUipcEventHandle {
            reserved: for_driver(handle.0),
        };
        let mut event = ptr::null_mut();
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes to a pointer of ours; a handle that names nothing is an error.
        let code = unsafe { (gpu.calls.event_import)(&raw mut event, handle) };
        gpu.calls.check("open an event of the engine", code)?;
        Ok(Self {
            gpu: Arc::clone(gpu),
            event,
        })
    }

    /// Whether the GPU has come to where the engine recorded it last. **The event of a process that was killed before never
    /// says so**, so whoever asks again has to look at the process too.
    pub(crate) fn has_passed(&self) -> Result<bool> {
        let _entered = self.gpu.enter()?;
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: the event is open.
        let code = unsafe { (self.gpu.calls.event_query)(self.event) };
        match code {
            SUCCESS => Ok(true),
            NOT_READY => Ok(false),
            code => self
                .gpu
                .calls
                .check("ask whether the engine's stream has come to a point", code)
                .map(|()| true),
        }
    }
}

impl Drop for PeerEvent {
    fn drop(&mut self) {
        let closed = self.gpu.enter().and_then(|_entered| {
            #[expect(unsafe_code, reason = "a call of the driver")]
            // SAFETY: what open opened, once.
            let code = unsafe { (self.gpu.calls.event_destroy)(self.event) };
            self.gpu.calls.check("close an event of an engine", code)
        });
        if let Err(error) = closed {
            tracing::warn!("{error}");
        }
    }
}
