//! What an engine does with the driver itself: allocate, fill, keep its stream busy.

use std::ffi::{CString, c_void};
use std::ptr;

use cudarc::driver::sys::{
    CUcontext, CUfunction, CUmodule, CUresult, CUstream, cuCtxPushCurrent_v2, cuDeviceGet,
    cuDevicePrimaryCtxRetain, cuInit, cuLaunchKernel, cuMemAlloc_v2, cuMemAllocAsync, cuMemFree_v2,
    cuMemGetInfo_v2, cuMemcpyDtoH_v2, cuMemcpyHtoD_v2, cuModuleGetFunction, cuModuleLoadData, cuStreamCreate,
    culib,
};

use crate::stand_in;

/// Waits for so many nanoseconds by the GPU's clock.
const SPIN: &str = include_str!("../../../../tests/gpu/spin.ptx");

fn ok(result: CUresult) {
    assert_eq!(result, CUresult::CUDA_SUCCESS);
}

/// This process's context and a stream of its own.
pub(crate) struct Device {
    pub(crate) stream: CUstream,
    spin: CUfunction,
}

impl Device {
    pub(crate) fn open() -> Self {
        enter_context();
        let mut stream: CUstream = ptr::null_mut();
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes to a pointer of ours.
        unsafe {
            ok(cuStreamCreate(&raw mut stream, 1));
        }
        let spin = if stand_in::is_used() {
            ptr::null_mut()
        } else {
            kernel()
        };
        Self { stream, spin }
    }

    pub(crate) fn allocate(&self, bytes: usize) -> u64 {
        let mut address = 0;
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes to a number of ours.
        unsafe {
            ok(cuMemAlloc_v2(&raw mut address, bytes));
        }
        address
    }

    pub(crate) fn allocate_from_pool(&self, bytes: usize) -> u64 {
        let mut address = 0;
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes to a number of ours.
        unsafe {
            ok(cuMemAllocAsync(&raw mut address, bytes, self.stream));
        }
        address
    }

    pub(crate) fn free(&self, address: u64) {
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: what allocate gave, once.
        unsafe {
            ok(cuMemFree_v2(address));
        }
    }

    pub(crate) fn peek(&self, address: u64, bytes: usize) -> Vec<u8> {
        let mut copy = vec![0; bytes];
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: writes as many bytes as the vector has.
        unsafe {
            ok(cuMemcpyDtoH_v2(copy.as_mut_ptr().cast(), address, bytes));
        }
        copy
    }

    pub(crate) fn poke(&self, address: u64, bytes: &[u8]) {
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: reads as many bytes as the slice has.
        unsafe {
            ok(cuMemcpyHtoD_v2(address, bytes.as_ptr().cast(), bytes.len()));
        }
    }

    /// Has the stream do nothing else for so long.
    pub(crate) fn be_busy(&self, milliseconds: u64) {
        let mut nanoseconds = milliseconds * 1_000_000;
        let mut arguments = [(&raw mut nanoseconds).cast::<c_void>()];
        #[expect(unsafe_code, reason = "calls of the driver")]
        // SAFETY: the kernel takes one number; the stand-in's function has this type.
        unsafe {
            if stand_in::is_used() {
                let busy = culib()
                    .get::<unsafe extern "C" fn(CUstream, u64) -> u32>(b"standInBusy")
                    .unwrap();
                assert_eq!(busy(self.stream, milliseconds), 0);
            } else {
                let arguments = arguments.as_mut_ptr();
                ok(cuLaunchKernel(
                    self.spin,
                    1,
                    1,
                    1,
                    1,
                    1,
                    1,
                    0,
                    self.stream,
                    arguments,
                    ptr::null_mut(),
                ));
            }
        }
    }
}

/// Memory of the GPU that somebody has; the stand-in's is what processes have mapped.
pub(crate) fn used_bytes() -> u64 {
    if stand_in::is_used() {
        return stand_in::mapped_bytes();
    }
    enter_context();
    let (mut free, mut total) = (0, 0);
    #[expect(unsafe_code, reason = "a call of the driver")]
    // SAFETY: writes to numbers of ours.
    unsafe {
        ok(cuMemGetInfo_v2(&raw mut free, &raw mut total));
    }
    (total - free) as u64
}

/// Makes the first GPU's context this thread's current one.
fn enter_context() {
    let (mut device, mut context): (i32, CUcontext) = (0, ptr::null_mut());
    #[expect(unsafe_code, reason = "calls of the driver")]
    // SAFETY: each writes to a variable of ours; the context is never given back.
    unsafe {
        ok(cuInit(0));
        ok(cuDeviceGet(&raw mut device, 0));
        ok(cuDevicePrimaryCtxRetain(&raw mut context, device));
        ok(cuCtxPushCurrent_v2(context));
    }
}

fn kernel() -> CUfunction {
    let (mut module, mut function): (CUmodule, CUfunction) = (ptr::null_mut(), ptr::null_mut());
    let text = CString::new(SPIN).unwrap();
    #[expect(unsafe_code, reason = "calls of the driver")]
    // SAFETY: writes to variables of ours; the text is one of PTX that ends with a zero.
    unsafe {
        ok(cuModuleLoadData(&raw mut module, text.as_ptr().cast()));
        ok(cuModuleGetFunction(&raw mut function, module, c"spin".as_ptr()));
    }
    function
}
