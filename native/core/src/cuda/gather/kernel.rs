//! The kernel, loaded into this process's context.

use std::ffi::CString;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::{CUfunction, CUmodule};

use crate::cuda::gpu::Gpu;
use crate::error::{Error, ErrorKind, Result};

/// What gather.cu became.
const PTX: &str = include_str!("../gather.ptx");

/// A module with one function.
pub(super) struct Kernel {
    gpu: Arc<Gpu>,
    module: CUmodule,
    function: CUfunction,
}

#[expect(unsafe_code, reason = "a module is no thread's own")]
// SAFETY: the driver's calls may be made by any thread.
unsafe impl Send for Kernel {}
#[expect(unsafe_code, reason = "as for Send")]
// SAFETY: as for Send; nothing of it changes.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// Loads it.
    pub(super) fn load(gpu: &Arc<Gpu>) -> Result<Self> {
        let text = CString::new(PTX).map_err(|error| Error::new(ErrorKind::Corrupt, error.to_string()))?;
        let _entered = gpu.enter()?;
        let mut kernel = Self {
            gpu: Arc::clone(gpu),
            module: ptr::null_mut(),
            function: ptr::null_mut(),
        };
        #[expect(unsafe_code, reason = "calls of the driver")]
        // SAFETY: both write to variables of ours; the text and the name end with a zero.
        unsafe {
            let loaded = (gpu.calls.module_load)(&raw mut kernel.module, text.as_ptr().cast());
            gpu.calls.check("load the kernel that moves blocks", loaded)?;
            let found =
                (gpu.calls.module_function)(&raw mut kernel.function, kernel.module, c"move_runs".as_ptr());
            gpu.calls.check("find the kernel that moves blocks", found)?;
        }
        Ok(kernel)
    }

    /// What launches take.
    pub(super) fn function(&self) -> CUfunction {
        self.function
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        if self.module.is_null() {
            return;
        }
        let unloaded = self.gpu.enter().and_then(|_entered| {
            #[expect(unsafe_code, reason = "a call of the driver")]
            // SAFETY: what load loaded, once; whoever launches it has waited for its end.
            let code = unsafe { (self.gpu.calls.module_unload)(self.module) };
            self.gpu.calls.check("unload a kernel", code)
        });
        if let Err(error) = unloaded {
            tracing::warn!("{error}");
        }
    }
}
