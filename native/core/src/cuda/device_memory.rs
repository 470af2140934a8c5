//! Memory of a GPU that this process allocates.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;

use super::export::handle_of;
use super::gpu::Gpu;
use super::ipc::MemoryHandle;
use crate::error::{Error, ErrorKind, Result};

/// One allocation, freed when dropped.
#[derive(Debug)]
pub(super) struct DeviceMemory {
    gpu: Arc<Gpu>,
    address: CUdeviceptr,
}

impl DeviceMemory {
    /// Allocates.
    pub(super) fn new(gpu: &Arc<Gpu>, bytes: u64) -> Result<Self> {
        let _entered = gpu.enter()?;
        let mut address = 0;
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes to a number of ours.
        let code = unsafe { (gpu.calls.memory_allocate)(&raw mut address, bytes as usize) };
        gpu.calls
            .check(&format!("allocate {bytes} bytes of the GPU"), code)
            .map_err(|error| match error.kind() {
                ErrorKind::GpuLost => error,
                _ => Error::new(ErrorKind::NoSpace, error.message()),
            })?;
        Ok(Self {
            gpu: Arc::clone(gpu),
            address,
        })
    }

    /// Allocates what holds these bytes.
    pub(super) fn holding(gpu: &Arc<Gpu>, bytes: &[u8]) -> Result<Self> {
        let memory = Self::new(gpu, bytes.len() as u64)?;
        let _entered = gpu.enter()?;
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: reads the slice and writes as many bytes to what was allocated for them; it returns when it has.
        let code = unsafe { (gpu.calls.copy_in)(memory.address, bytes.as_ptr().cast(), bytes.len()) };
        gpu.calls.check("describe the blocks to the GPU", code)?;
        Ok(memory)
    }

    /// What names it to other processes.
    pub(super) fn export(&self) -> Result<MemoryHandle> {
        let _entered = self.gpu.enter()?;
        handle_of(self.gpu.calls, self.address)
    }

    /// Its first byte.
    pub(super) fn address(&self) -> CUdeviceptr {
        self.address
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let freed = self.gpu.enter().and_then(|_entered| {
            #[expect(unsafe_code, reason = "a call of the driver")]
            // SAFETY: what new allocated, once; nothing of this process uses it any more. Another process that has it mapped keeps it.
            let code = unsafe { (self.gpu.calls.memory_free)(self.address) };
            self.gpu.calls.check("free memory of the GPU", code)
        });
        if let Err(error) = freed {
            tracing::warn!("{error}");
        }
    }
}
