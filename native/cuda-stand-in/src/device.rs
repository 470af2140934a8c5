//! Two GPUs, as `CUDA_VISIBLE_DEVICES` orders them, and the contexts on them.

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{INVALID_CONTEXT, INVALID_DEVICE, SUCCESS};

const GPUS: usize = 2;
/// Where it is set, the GPUs are shared through MPS.
const HAS_MPS: &str = "CUDA_STAND_IN_MPS";
/// `CU_DEVICE_ATTRIBUTE_MPS_ENABLED`.
const MPS_ENABLED: u32 = 133;

/// The GPUs that this process sees, in its order.
pub(crate) fn visible() -> Vec<usize> {
    match std::env::var("CUDA_VISIBLE_DEVICES") {
        Ok(list) => list
            .split(',')
            .filter_map(|number| number.parse().ok())
            .filter(|&gpu| gpu < GPUS)
            .collect(),
        Err(_) => (0..GPUS).collect(),
    }
}

/// Contexts that this process has made.
pub(crate) static CONTEXTS_MADE: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static CONTEXTS: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// The ordinal of the GPU whose context is current.
pub(crate) fn current() -> Option<usize> {
    CONTEXTS.with_borrow(|stack| stack.last().map(|context| context - 1))
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> u32 {
    unsafe { count.write(visible().len() as c_int) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> u32 {
    if ordinal as usize >= visible().len() {
        return INVALID_DEVICE;
    }
    unsafe { device.write(ordinal) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, length: c_int, _device: c_int) -> u32 {
    let text = c"stand-in GPU".to_bytes_with_nul();
    for (index, &byte) in text.iter().take(length as usize).enumerate() {
        unsafe { name.add(index).write(byte as c_char) };
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) -> u32 {
    let Some(&gpu) = visible().get(device as usize) else {
        return INVALID_DEVICE;
    };
    let mut bytes = *b"stand-in GPU   0";
    bytes[15] += gpu as u8;
    unsafe { uuid.write(bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: u32, _device: c_int) -> u32 {
    let has_it = attribute == MPS_ENABLED && std::env::var_os(HAS_MPS).is_some();
    unsafe { value.write(has_it.into()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> u32 {
    CONTEXTS_MADE.fetch_add(1, Ordering::SeqCst);
    unsafe { context.write((device as usize + 1) as *mut c_void) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRelease_v2(_device: c_int) -> u32 {
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxPushCurrent_v2(context: *mut c_void) -> u32 {
    CONTEXTS.with_borrow_mut(|stack| stack.push(context.addr()));
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxPopCurrent_v2(context: *mut *mut c_void) -> u32 {
    match CONTEXTS.with_borrow_mut(Vec::pop) {
        Some(popped) => {
            unsafe { context.write(popped as *mut c_void) };
            SUCCESS
        }
        None => INVALID_CONTEXT,
    }
}
