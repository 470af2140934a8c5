//! Copies, done when they are submitted.

use std::ffi::c_void;
use std::path::Path;

use crate::memory::{find, table};
use crate::{INVALID_CONTEXT, INVALID_VALUE, LAUNCH_FAILED, SUCCESS, device, host};

/// Names a file: while it is there, the GPU is broken.
const BROKEN: &str = "CUDA_STAND_IN_BROKEN";
/// Names a file: while it is there, batch calls fail in the middle of what they are to do.
const REFUSES_BATCHES: &str = "CUDA_STAND_IN_REFUSES_BATCHES";

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyBatchAsync(
    to: *mut u64,
    from: *mut u64,
    lengths: *mut usize,
    count: usize,
    _attributes: *mut c_void,
    _first: *mut usize,
    _attribute_count: usize,
    failed: *mut usize,
    stream: *mut c_void,
) -> u32 {
    // As the driver, it takes no default stream.
    if stream.is_null() {
        return INVALID_VALUE;
    }
    let refused = is_there(REFUSES_BATCHES).then_some(count / 2);
    for index in 0..count {
        if refused == Some(index) {
            unsafe { failed.write(index) };
            return INVALID_VALUE;
        }
        let (to, from, length) = unsafe { (*to.add(index), *from.add(index), *lengths.add(index)) };
        let code = copy(to as usize, from as usize, length);
        if code != SUCCESS {
            unsafe { failed.write(index) };
            return code;
        }
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoDAsync_v2(
    device: u64,
    host: *const c_void,
    length: usize,
    _stream: *mut c_void,
) -> u32 {
    copy(device as usize, host.addr(), length)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoHAsync_v2(
    host: *mut c_void,
    device: u64,
    length: usize,
    _stream: *mut c_void,
) -> u32 {
    copy(host.addr(), device as usize, length)
}

/// Synchronous copies take memory that is not pinned, too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyHtoD_v2(device: u64, host: *const c_void, length: usize) -> u32 {
    unchecked(device as usize, host.addr(), length)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemcpyDtoH_v2(host: *mut c_void, device: u64, length: usize) -> u32 {
    unchecked(host.addr(), device as usize, length)
}

fn is_there(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|file| Path::new(&file).exists())
}

fn copy(to: usize, from: usize, length: usize) -> u32 {
    if is_there(BROKEN) {
        return LAUNCH_FAILED;
    }
    let table = table();
    let is_device = |address| find(&table, address, length).is_some();
    let is_sound = |address| is_device(address) || host::is_pinned(address, length);
    if device::current().is_none() {
        return INVALID_CONTEXT;
    }
    if !is_sound(to) || !is_sound(from) || is_device(to) == is_device(from) {
        return INVALID_VALUE;
    }
    unchecked(to, from, length)
}

fn unchecked(to: usize, from: usize, length: usize) -> u32 {
    unsafe {
        libc::memmove(to as *mut c_void, from as *const c_void, length);
    }
    SUCCESS
}
