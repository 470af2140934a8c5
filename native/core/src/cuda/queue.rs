//! A stream for kernels, after which the engine's own come first.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::CUstream;

use super::gpu::Gpu;
use super::stream::NON_BLOCKING;
use crate::error::Result;

/// A stream of the least priority.
#[derive(Debug)]
pub(super) struct Queue {
    gpu: Arc<Gpu>,
    stream: CUstream,
}

#[expect(unsafe_code, reason = "a stream is no thread's own")]
// SAFETY: the driver's calls may be made by any thread.
unsafe impl Send for Queue {}
#[expect(unsafe_code, reason = "as for Send")]
// SAFETY: as for Send.
unsafe impl Sync for Queue {}

impl Queue {
    /// An empty one.
    pub(super) fn new(gpu: &Arc<Gpu>) -> Result<Self> {
        let _entered = gpu.enter()?;
        let (mut least, mut greatest) = (0, 0);
        let mut stream = ptr::null_mut();
        #[expect(unsafe_code, reason = "calls of the driver")]
        // SAFETY: both write to variables of ours.
        unsafe {
            let answered = (gpu.calls.priority_range)(&raw mut least, &raw mut greatest);
            gpu.calls.check("ask for the priorities of streams", answered)?;
            let made = (gpu.calls.stream_create_with_priority)(&raw mut stream, NON_BLOCKING, least);
            gpu.calls.check("make a stream", made)?;
        }
        Ok(Self {
            gpu: Arc::clone(gpu),
            stream,
        })
    }

    /// As the driver has it.
    pub(super) fn stream(&self) -> CUstream {
        self.stream
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        let destroyed = self.gpu.enter().and_then(|_entered| {
            #[expect(unsafe_code, reason = "a call of the driver")]
            // SAFETY: what new made, once; the driver keeps it until what is in it has ended.
            let code = unsafe { (self.gpu.calls.stream_destroy)(self.stream) };
            self.gpu.calls.check("end a stream", code)
        });
        if let Err(error) = destroyed {
            tracing::warn!("{error}");
        }
    }
}
