//! How much of a GPU's memory is taken, by whoever: the driver's management library says it without a context, which is most of
//! what a process takes.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem;
use std::ptr;

use super::gpu::GpuUuid;

const LIBRARY: &CStr = c"libnvidia-ml.so.1";
const SUCCESS: u32 = 0;

type Init = unsafe extern "C" fn() -> u32;
type Find = unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> u32;
type Ask = unsafe extern "C" fn(*mut c_void, *mut Memory) -> u32;

/// As `nvmlMemory_t`.
#[repr(C)]
#[derive(Default)]
struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

/// The library's functions; it stays open.
pub(super) struct Usage {
    find: Find,
    ask: Ask,
}

impl Usage {
    /// None where the library is missing or does not begin: then nobody knows.
    pub(super) fn open() -> Option<Self> {
        const NOW: c_int = libc::RTLD_NOW;
        #[expect(
            unsafe_code,
            reason = "opening a library runs its code, and symbols have no types"
        )]
        // SAFETY: NVIDIA's library may be opened at any time by any thread; the types are those of its header, and nothing closes it.
        unsafe {
            let library = libc::dlopen(LIBRARY.as_ptr(), NOW);
            if library.is_null() {
                return None;
            }
            let symbol = |name: &CStr| {
                let found = libc::dlsym(library, name.as_ptr());
                (!found.is_null()).then_some(found)
            };
            let init = mem::transmute::<*mut c_void, Init>(symbol(c"nvmlInit_v2")?);
            let usage = Self {
                find: mem::transmute::<*mut c_void, Find>(symbol(c"nvmlDeviceGetHandleByUUID")?),
                ask: mem::transmute::<*mut c_void, Ask>(symbol(c"nvmlDeviceGetMemoryInfo")?),
            };
            (init() == SUCCESS).then_some(usage)
        }
    }

    /// Bytes of a GPU that are taken, by all processes.
    pub(super) fn used_bytes(&self, uuid: GpuUuid) -> Option<u64> {
        let name = CString::new(uuid.to_string()).ok()?;
        let (mut device, mut memory) = (ptr::null_mut(), Memory::default());
        #[expect(unsafe_code, reason = "calls of the library")]
        // SAFETY: the name ends with a zero; both write to variables of ours, of their types.
        let is_known = unsafe {
            (self.find)(name.as_ptr(), &raw mut device) == SUCCESS
                && (self.ask)(device, &raw mut memory) == SUCCESS
        };
        is_known.then_some(memory.used)
    }
}
