//! Memory on a GPU that is this process's own.

use std::sync::Arc;

use cudarc::driver::sys::CUdeviceptr;

use super::gpu::Gpu;
use crate::error::Result;

/// One allocation, until this is dropped.
#[derive(Debug)]
pub(super) struct DeviceMemory {
    gpu: Arc<Gpu>,
    base: CUdeviceptr,
}

impl DeviceMemory {
    /// Allocates so many bytes.
    pub(super) fn new(gpu: &Arc<Gpu>, bytes: usize) -> Result<Self> {
        let _entered = gpu.enter()?;
        let mut base = 0;
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes to a number of ours.
        let code = unsafe { (gpu.calls.memory_allocate)(&raw mut base, bytes) };
        gpu.calls.check("allocate memory on a GPU", code)?;
        Ok(Self {
            gpu: Arc::clone(gpu),
            base,
        })
    }

    /// Its first byte, as the GPU addresses it.
    pub(super) fn base(&self) -> u64 {
        self.base
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let freed = self.gpu.enter().and_then(|_entered| {
            #[expect(unsafe_code, reason = "a call of the driver")]
            // SAFETY: what new allocated, once; whoever copies waits for the end of it.
            let code = unsafe { (self.gpu.calls.memory_free)(self.base) };
            self.gpu.calls.check("free memory on a GPU", code)
        });
        if let Err(error) = freed {
            tracing::warn!("{error}");
        }
    }
}
