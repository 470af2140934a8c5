//! Events of this process.

use std::ptr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use cudarc::driver::sys::{CUevent, CUipcEventHandle, CUstream};

use super::driver::{NOT_READY, SUCCESS};
use super::gpu::Gpu;
use super::ipc::{EventHandle, of_driver};
use super::queue::Queue;
use crate::error::Result;
use crate::pause;

/// Points in its stream that an engine can have outstanding.
pub const EVENTS: usize = 64;

const DISABLE_TIMING: u32 = 2;
const INTERPROCESS: u32 = 4;

/// How long before and after its expected time an end is looked for without a pause.
const SPIN: Duration = Duration::from_micros(100);
/// The pause between two looks after that.
const PAUSE: Duration = Duration::from_micros(20);

/// A point in a stream.
#[derive(Debug)]
pub(super) struct Event {
    gpu: Arc<Gpu>,
    event: CUevent,
}

#[expect(unsafe_code, reason = "an event is no thread's own")]
// SAFETY: the driver's calls may be made by any thread.
unsafe impl Send for Event {}
#[expect(unsafe_code, reason = "as for Send")]
// SAFETY: as for Send.
unsafe impl Sync for Event {}

impl Event {
    /// An event for this process alone.
    pub(super) fn new(gpu: &Arc<Gpu>) -> Result<Self> {
        Self::create(gpu, DISABLE_TIMING)
    }

    /// An event that other processes can look at.
    pub(super) fn shared(gpu: &Arc<Gpu>) -> Result<(Self, EventHandle)> {
        let event = Self::create(gpu, DISABLE_TIMING | INTERPROCESS)?;
        let _entered = gpu.enter()?;
        let mut handle = CUipcEventHandle { reserved: [0; 64] };
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes to a variable of ours; the event is open.
        let code = unsafe { (gpu.calls.event_export)(&raw mut handle, event.event) };
        gpu.calls.check("export an event", code)?;
        Ok((event, EventHandle(of_driver(handle.reserved))))
    }

    fn create(gpu: &Arc<Gpu>, flags: u32) -> Result<Self> {
        let _entered = gpu.enter()?;
        let mut event = ptr::null_mut();
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes to a pointer of ours.
        let code = unsafe { (gpu.calls.event_create)(&raw mut event, flags) };
        gpu.calls.check("make an event", code)?;
        Ok(Self {
            gpu: Arc::clone(gpu),
            event,
        })
    }

    /// Puts the event at the end of what is in the stream now.
    pub(super) fn record(&self, stream: CUstream) -> Result<()> {
        let _entered = self.gpu.enter()?;
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: the event is open; the driver answers a stream that is none, or another context's, with an error.
        let code = unsafe { (self.gpu.calls.event_record)(self.event, stream) };
        self.gpu.calls.check("record an event", code)
    }

    /// Has the queue do nothing more before the GPU has come to the event.
    pub(super) fn hold(&self, queue: &Queue) -> Result<()> {
        let _entered = self.gpu.enter()?;
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: both are open.
        let code = unsafe { (self.gpu.calls.stream_wait)(queue.stream(), self.event, 0) };
        self.gpu.calls.check("have a stream wait for another", code)
    }

    /// Whether the GPU has come to the event.
    pub(super) fn has_passed(&self) -> Result<bool> {
        let _entered = self.gpu.enter()?;
        self.query()
    }

    fn query(&self) -> Result<bool> {
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: the event is open.
        let code = unsafe { (self.gpu.calls.event_query)(self.event) };
        match code {
            SUCCESS => Ok(true),
            NOT_READY => Ok(false),
            code => self.gpu.calls.check("wait for copies", code).map(|()| true),
        }
    }

    /// Returns when the GPU has come to the event, or says that it never will. `expected` after `begun` is when it can come at the
    /// earliest: until shortly before, this thread sleeps.
    ///
    /// It asks again and again: a call of the driver that waits could not be left any more.
    pub(super) fn wait(&self, begun: Instant, expected: Duration) -> Result<()> {
        let _entered = self.gpu.enter()?;
        pause::be_exact();
        let early = expected.saturating_sub(SPIN + begun.elapsed());
        if !early.is_zero() {
            thread::sleep(early);
        }
        while !self.query()? {
            if begun.elapsed() < expected + SPIN {
                std::hint::spin_loop();
            } else {
                thread::sleep(PAUSE);
            }
        }
        Ok(())
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let destroyed = self.gpu.enter().and_then(|_entered| {
            #[expect(unsafe_code, reason = "a call of the driver")]
            // SAFETY: what create made, once; the driver keeps what is still recorded.
            let code = unsafe { (self.gpu.calls.event_destroy)(self.event) };
            self.gpu.calls.check("end an event", code)
        });
        if let Err(error) = destroyed {
            tracing::warn!("{error}");
        }
    }
}
