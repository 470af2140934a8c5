//! One GPU, and this process's context on it.

use std::ffi::{c_char, c_int};
use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use cudarc::driver::sys::{CUcontext, CUdevice, CUuuid};

use super::driver::{Calls, SUCCESS, driver};
use crate::error::{Error, ErrorKind, Result};

/// Whether contexts on the device are shared through MPS (`CU_DEVICE_ATTRIBUTE_MPS_ENABLED`).
const MPS_ENABLED: u32 = 133;

/// What tells a GPU from every other one: processes number them as they like.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct GpuUuid(pub [u8; 16]);

/// As nvidia-smi has it.
impl fmt::Display for GpuUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GPU")?;
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 0 | 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for GpuUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A GPU with its primary context, which is kept until this is dropped.
pub struct Gpu {
    pub(super) calls: &'static Calls,
    device: CUdevice,
    context: CUcontext,
    uuid: GpuUuid,
    name: String,
}

#[expect(unsafe_code, reason = "a context is no thread's own")]
// SAFETY: the driver's calls may be made by any thread; a context may be current in several.
unsafe impl Send for Gpu {}
#[expect(unsafe_code, reason = "as for Send")]
// SAFETY: as for Send.
unsafe impl Sync for Gpu {}

impl Gpu {
    /// How many GPUs this process sees.
    pub(super) fn count() -> Result<c_int> {
        let calls = driver()?;
        let mut count = 0;
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes to a number of ours.
        let code = unsafe { (calls.device_count)(&raw mut count) };
        calls.check("count the GPUs", code)?;
        Ok(count)
    }

    /// Which GPU this process counts as `ordinal`.
    pub(super) fn uuid_of(ordinal: c_int) -> Result<GpuUuid> {
        let calls = driver()?;
        let (mut device, mut uuid) = (0, CUuuid { bytes: [0; 16] });
        #[expect(unsafe_code, reason = "calls of the driver")]
        // SAFETY: each writes to a variable of ours; the device is one that the driver gave.
        unsafe {
            calls.check("find a GPU", (calls.device)(&raw mut device, ordinal))?;
            calls.check(
                "ask a GPU for its UUID",
                (calls.device_uuid)(&raw mut uuid, device),
            )?;
        }
        Ok(GpuUuid(uuid.bytes.map(|byte| byte as u8)))
    }

    /// The GPU that this process counts as `ordinal`; its context is made if it is new, which takes some 0.3 s.
    pub(super) fn open(ordinal: c_int) -> Result<Self> {
        let calls = driver()?;
        let mut device = 0;
        let mut name: [c_char; 128] = [0; 128];
        let mut context = ptr::null_mut();
        #[expect(unsafe_code, reason = "calls of the driver")]
        // SAFETY: each writes to a variable of ours, the name to as many bytes as it is told; the device is one that the
        // driver gave.
        unsafe {
            calls.check("find a GPU", (calls.device)(&raw mut device, ordinal))?;
            calls.check(
                "ask a GPU for its name",
                (calls.device_name)(name.as_mut_ptr(), name.len() as c_int, device),
            )?;
            calls.check(
                "make a context on a GPU",
                (calls.context_retain)(&raw mut context, device),
            )?;
        }
        let name = name.iter().take_while(|&&byte| byte != 0).map(|&byte| byte as u8);
        Ok(Self {
            calls,
            device,
            context,
            uuid: Self::uuid_of(ordinal)?,
            name: String::from_utf8_lossy(&name.collect::<Vec<_>>()).into_owned(),
        })
    }

    /// Which GPU it is.
    pub fn uuid(&self) -> GpuUuid {
        self.uuid
    }

    /// Its product name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the driver has batch calls.
    pub(crate) fn has_batch_calls(&self) -> bool {
        self.calls.memcpy_batch_async.is_some()
    }

    /// Whether contexts are shared through MPS, where the end of one process may not end its copies.
    pub(super) fn is_shared_by_mps(&self) -> bool {
        let mut enabled = 0;
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes to a number of ours.
        let code = unsafe { (self.calls.device_attribute)(&raw mut enabled, MPS_ENABLED, self.device) };
        code == SUCCESS && enabled != 0
    }

    /// Makes the context this thread's current one, until what is returned is dropped.
    pub(super) fn enter(&self) -> Result<Entered<'_>> {
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: the context is kept by self, which the guard borrows.
        let code = unsafe { (self.calls.context_push)(self.context) };
        self.calls.check("use a GPU's context", code)?;
        Ok(Entered {
            gpu: self,
            thread: PhantomData,
        })
    }

    pub(super) fn error(&self, kind: ErrorKind, message: impl fmt::Display) -> Error {
        Error::new(kind, format!("{} ({}): {message}", self.name, self.uuid))
    }
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Gpu").field(&self.uuid).finish()
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: gives back what open retained; whatever uses the context owns a part of self.
        let code = unsafe { (self.calls.context_release)(self.device) };
        if let Err(error) = self.calls.check("give a GPU's context back", code) {
            tracing::warn!("{error}");
        }
    }
}

/// This thread is in a GPU's context.
pub(super) struct Entered<'a> {
    gpu: &'a Gpu,
    /// The stack of contexts is the thread's own.
    thread: PhantomData<*const ()>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut left = ptr::null_mut();
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: takes away what enter pushed on this thread: the guard stays on it, and guards are dropped in reverse order.
        let code = unsafe { (self.gpu.calls.context_pop)(&raw mut left) };
        if let Err(error) = self.gpu.calls.check("leave a GPU's context", code) {
            tracing::warn!("{error}");
        }
    }
}
