//! A stand-in for NVIDIA's libcuda, for tests on machines with no GPU.
//!
//! Device memory is shared memory, an allocation's handle names the file of it, and an interprocess event is a pair of words in
//! such a file. Copies are done when they are submitted. It is stricter than the driver: host memory that is not pinned as one
//! piece, device memory that is not mapped, and calls without a current context are errors.
#![allow(
    clippy::missing_safety_doc,
    reason = "the functions are those of CUDA's documentation"
)]

mod copy;
mod device;
mod event;
mod host;
mod ipc;
mod kernel;
mod memory;
mod shared;
mod usage;

use std::ffi::{CStr, c_char, c_int};

pub(crate) const SUCCESS: u32 = 0;
pub(crate) const INVALID_VALUE: u32 = 1;
pub(crate) const NO_DEVICE: u32 = 100;
pub(crate) const INVALID_DEVICE: u32 = 101;
pub(crate) const INVALID_CONTEXT: u32 = 201;
pub(crate) const NOT_FOUND: u32 = 500;
pub(crate) const NOT_READY: u32 = 600;
pub(crate) const ALREADY_REGISTERED: u32 = 712;
pub(crate) const NOT_REGISTERED: u32 = 713;
pub(crate) const LAUNCH_FAILED: u32 = 719;

/// The version of CUDA that the driver is of, as it has them; 12.8 where it is not set.
const VERSION: &str = "CUDA_STAND_IN_VERSION";

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> u32 {
    let set = std::env::var(VERSION).ok().and_then(|text| text.parse().ok());
    unsafe { version.write(set.unwrap_or(12_080)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuInit(_flags: u32) -> u32 {
    if device::visible().is_empty() {
        NO_DEVICE
    } else {
        SUCCESS
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: u32, name: *mut *const c_char) -> u32 {
    let text: &CStr = match code {
        INVALID_VALUE => c"CUDA_ERROR_INVALID_VALUE",
        NO_DEVICE => c"CUDA_ERROR_NO_DEVICE",
        INVALID_CONTEXT => c"CUDA_ERROR_INVALID_CONTEXT",
        LAUNCH_FAILED => c"CUDA_ERROR_LAUNCH_FAILED",
        _ => c"CUDA_ERROR_OF_THE_STAND_IN",
    };
    unsafe { name.write(text.as_ptr()) };
    SUCCESS
}
