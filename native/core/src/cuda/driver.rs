//! The driver's functions, and what their answers mean.
//!
//! cudarc opens the library and has its types. Its own functions are not called: they panic where the library lacks one, and
//! a number that a newer driver answers with would be no value of their result type.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::panic;
use std::sync::OnceLock;

use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUipcEventHandle, CUipcMemHandle,
    CUmemcpyAttributes, CUmodule, CUstream, CUuuid, culib, is_culib_present,
};

use crate::error::{Error, ErrorKind, Result};

/// What a driver must be able to do: that of CUDA 12.0.
const OLDEST_VERSION: c_int = 12_000;

pub(super) const SUCCESS: u32 = 0;
pub(super) const NOT_READY: u32 = 600;

/// Copies of a list, in one call. The form of CUDA 12.8, which later drivers have under this name too.
pub(super) type BatchCall = unsafe extern "C" fn(
    *mut CUdeviceptr,
    *mut CUdeviceptr,
    *mut usize,
    usize,
    *mut CUmemcpyAttributes,
    *mut usize,
    usize,
    *mut usize,
    CUstream,
) -> u32;

macro_rules! calls {
    ($($name:ident = $symbol:literal ($($argument:ty),*);)*) => {
        /// The functions that are used.
        pub(super) struct Calls {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) -> u32,)*
            /// None before CUDA 12.8.
            pub(super) memcpy_batch_async: Option<BatchCall>,
        }

        impl Calls {
            fn load() -> std::result::Result<Self, String> {
                #[expect(unsafe_code, reason = "opening a library runs its code")]
                // SAFETY: NVIDIA's library, or what the user has in its place, may be opened at any time by any thread.
                let library = unsafe {
                    if !is_culib_present() {
                        return Err("there is no libcuda.so: no NVIDIA driver is installed".to_owned());
                    }
                    panic::catch_unwind(|| culib()).map_err(|_| "libcuda.so cannot be opened".to_owned())?
                };
                #[expect(unsafe_code, reason = "symbols have no types")]
                // SAFETY: the types are those of the header of CUDA 12.0 and 12.8, which symbols of these names keep; the
                // results are numbers.
                unsafe {
                    Ok(Self {
                        $($name: *library
                            .get($symbol.as_bytes())
                            .map_err(|_| concat!("the NVIDIA driver has no ", $symbol, ": install one for CUDA 12 or newer"))?,)*
                        memcpy_batch_async: library.get(b"cuMemcpyBatchAsync").ok().map(|call| *call),
                    })
                }
            }
        }
    };
}

calls! {
    init = "cuInit" (c_uint);
    version = "cuDriverGetVersion" (*mut c_int);
    error_name = "cuGetErrorName" (u32, *mut *const c_char);
    device_count = "cuDeviceGetCount" (*mut c_int);
    device = "cuDeviceGet" (*mut CUdevice, c_int);
    device_name = "cuDeviceGetName" (*mut c_char, c_int, CUdevice);
    device_uuid = "cuDeviceGetUuid_v2" (*mut CUuuid, CUdevice);
    device_attribute = "cuDeviceGetAttribute" (*mut c_int, c_uint, CUdevice);
    context_retain = "cuDevicePrimaryCtxRetain" (*mut CUcontext, CUdevice);
    context_release = "cuDevicePrimaryCtxRelease_v2" (CUdevice);
    context_push = "cuCtxPushCurrent_v2" (CUcontext);
    context_pop = "cuCtxPopCurrent_v2" (*mut CUcontext);
    stream_create = "cuStreamCreate" (*mut CUstream, c_uint);
    stream_create_with_priority = "cuStreamCreateWithPriority" (*mut CUstream, c_uint, c_int);
    stream_wait = "cuStreamWaitEvent" (CUstream, CUevent, c_uint);
    priority_range = "cuCtxGetStreamPriorityRange" (*mut c_int, *mut c_int);
    stream_destroy = "cuStreamDestroy_v2" (CUstream);
    event_create = "cuEventCreate" (*mut CUevent, c_uint);
    event_record = "cuEventRecord" (CUevent, CUstream);
    event_query = "cuEventQuery" (CUevent);
    event_destroy = "cuEventDestroy_v2" (CUevent);
    event_export = "cuIpcGetEventHandle" (*mut CUipcEventHandle, CUevent);
    event_import = "cuIpcOpenEventHandle" (*mut CUevent, CUipcEventHandle);
    memory_allocate = "cuMemAlloc_v2" (*mut CUdeviceptr, usize);
    memory_free = "cuMemFree_v2" (CUdeviceptr);
    memory_export = "cuIpcGetMemHandle" (*mut CUipcMemHandle, CUdeviceptr);
    memory_import = "cuIpcOpenMemHandle_v2" (*mut CUdeviceptr, CUipcMemHandle, c_uint);
    memory_close = "cuIpcCloseMemHandle" (CUdeviceptr);
    memory_range = "cuMemGetAddressRange_v2" (*mut CUdeviceptr, *mut usize, CUdeviceptr);
    pointer_attribute = "cuPointerGetAttribute" (*mut c_void, c_uint, CUdeviceptr);
    host_register = "cuMemHostRegister_v2" (*mut c_void, usize, c_uint);
    host_unregister = "cuMemHostUnregister" (*mut c_void);
    host_allocate = "cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
    host_free = "cuMemFreeHost" (*mut c_void);
    copy_in = "cuMemcpyHtoD_v2" (CUdeviceptr, *const c_void, usize);
    copy_to_device = "cuMemcpyHtoDAsync_v2" (CUdeviceptr, *const c_void, usize, CUstream);
    copy_to_host = "cuMemcpyDtoHAsync_v2" (*mut c_void, CUdeviceptr, usize, CUstream);
    module_load = "cuModuleLoadData" (*mut CUmodule, *const c_void);
    module_function = "cuModuleGetFunction" (*mut CUfunction, CUmodule, *const c_char);
    module_unload = "cuModuleUnload" (CUmodule);
    launch = "cuLaunchKernel" (
        CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void, *mut *mut c_void
    );
}

/// The driver, opened at the first call and initialised.
///
/// # Errors
/// `NotFound` when there is none, or none that is new enough: the sentence says which.
pub(super) fn driver() -> Result<&'static Calls> {
    static CALLS: OnceLock<std::result::Result<Calls, String>> = OnceLock::new();
    CALLS
        .get_or_init(|| {
            let calls = Calls::load()?;
            initialise(&calls).map_err(|error| error.message().to_owned())?;
            Ok(calls)
        })
        .as_ref()
        .map_err(|why| Error::new(ErrorKind::NotFound, why.clone()))
}

fn initialise(calls: &Calls) -> Result<()> {
    let mut version = 0;
    #[expect(unsafe_code, reason = "calls of the driver")]
    // SAFETY: the first takes flags, of which there are none; the second writes to a number of ours.
    let (begun, answered) = unsafe { ((calls.init)(0), (calls.version)(&raw mut version)) };
    calls.check("initialise the GPUs (cuInit)", begun)?;
    calls.check("ask the driver for its version", answered)?;
    if version < OLDEST_VERSION {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!(
                "the NVIDIA driver is one for CUDA {}.{}: install one for CUDA 12.0 or newer",
                version / 1_000,
                version % 1_000 / 10
            ),
        ));
    }
    Ok(())
}

impl Calls {
    /// An error for every answer but success: `what` says what was tried, as "map the memory of an engine".
    ///
    /// # Errors
    /// `GpuLost` for answers after which nothing in this process works with the GPU any more, else `Io`.
    pub(super) fn check(&self, what: &str, code: u32) -> Result<()> {
        if code == SUCCESS {
            return Ok(());
        }
        let kind = if is_sticky(code) {
            ErrorKind::GpuLost
        } else {
            ErrorKind::Io
        };
        Err(Error::new(
            kind,
            format!("cannot {what}: {} ({code})", self.name(code)),
        ))
    }

    fn name(&self, code: u32) -> String {
        let mut name = std::ptr::null();
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes a pointer to a constant string, or null for a number that it does not know.
        let text = unsafe {
            (self.error_name)(code, &raw mut name);
            (!name.is_null()).then(|| CStr::from_ptr(name))
        };
        text.map_or_else(
            || "an unknown error".into(),
            |text| text.to_string_lossy().into_owned(),
        )
    }
}

/// Whether every later call of this process fails too: the context is broken, or the GPU is gone.
fn is_sticky(code: u32) -> bool {
    // Uncorrectable ECC, contained errors, NVLink, lost device; context destroyed or left; faults of kernels (700 to 720 without
    // what concerns one call only), MPS, unknown.
    matches!(
        code,
        46 | 214 | 220 | 226 | 700 | 702 | 709 | 710 | 714..=719 | 721 | 805 | 810 | 999
    )
}
