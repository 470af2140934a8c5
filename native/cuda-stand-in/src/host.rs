//! Pinned host memory.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::{ALREADY_REGISTERED, INVALID_CONTEXT, INVALID_VALUE, NOT_REGISTERED, SUCCESS, device};

/// Bytes of each pinned piece, by its address.
type Pinned = BTreeMap<usize, usize>;

fn pinned() -> MutexGuard<'static, Pinned> {
    static PINNED: LazyLock<Mutex<Pinned>> = LazyLock::new(Mutex::default);
    PINNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether one piece holds all these bytes.
pub(crate) fn is_pinned(address: usize, bytes: usize) -> bool {
    let pinned = pinned();
    pinned
        .range(..=address)
        .next_back()
        .is_some_and(|(begin, length)| address + bytes <= begin + length)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostRegister_v2(memory: *mut c_void, bytes: usize, _flags: u32) -> u32 {
    if device::current().is_none() {
        return INVALID_CONTEXT;
    }
    let (begin, mut pinned) = (memory.addr(), pinned());
    let before = pinned.range(..begin + bytes).next_back();
    if before.is_some_and(|(other, length)| other + length > begin) {
        return ALREADY_REGISTERED;
    }
    pinned.insert(begin, bytes);
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostUnregister(memory: *mut c_void) -> u32 {
    pinned()
        .remove(&memory.addr())
        .map_or(NOT_REGISTERED, |_| SUCCESS)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemHostAlloc(memory: *mut *mut c_void, bytes: usize, _flags: u32) -> u32 {
    let Ok(layout) = Layout::from_size_align(bytes.max(1), 4_096) else {
        return INVALID_VALUE;
    };
    let allocated = unsafe { alloc_zeroed(layout) };
    if allocated.is_null() {
        return INVALID_VALUE;
    }
    pinned().insert(allocated.addr(), bytes);
    unsafe { memory.write(allocated.cast()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFreeHost(memory: *mut c_void) -> u32 {
    let Some(bytes) = pinned().remove(&memory.addr()) else {
        return INVALID_VALUE;
    };
    if let Ok(layout) = Layout::from_size_align(bytes.max(1), 4_096) {
        unsafe { dealloc(memory.cast(), layout) };
    }
    SUCCESS
}
