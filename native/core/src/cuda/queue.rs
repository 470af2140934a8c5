//! Streams of this process.

use std::ptr;
use std::sync::Arc;

use cudarc::driver::sys::CUstream;

use super::gpu::Gpu;
use crate::error::Result;

/// `CU_STREAM_NON_BLOCKING`: not ordered with the default stream.
const NON_BLOCKING: u32 = 1;

/// A stream, whose commands come one after the other.
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
    /// An empty one for copies.
    pub(super) fn new(gpu: &Arc<Gpu>) -> Result<Self> {
        let _entered = gpu.enter()?;
        let mut stream = ptr::null_mut();
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes to a pointer of ours.
        let code = unsafe { (gpu.calls.stream_create)(&raw mut stream, NON_BLOCKING) };
        gpu.calls.check("make a stream", code)?;
        Ok(Self {
            gpu: Arc::clone(gpu),
            stream,
        })
    }

    /// An empty one of the least priority, for kernels: the engine's own come first.
    pub(super) fn of_least_priority(gpu: &Arc<Gpu>) -> Result<Self> {
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
