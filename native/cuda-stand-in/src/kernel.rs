//! The one kernel that is known by its name, done by the processor.

use std::ffi::{CStr, c_char, c_void};

use crate::event::stream_of;
use crate::memory::{find, table};
use crate::{INVALID_CONTEXT, INVALID_VALUE, NOT_FOUND, SUCCESS, device};

const MOVE_RUNS: &CStr = c"move_runs";
/// A module and its function, of which nobody looks at the bytes.
const HANDLE: usize = 64;

/// As in gather.cu.
#[derive(Clone, Copy)]
#[repr(C)]
struct Run {
    address: u64,
    block_stride: u64,
    page_offset: u64,
    length: u64,
}

/// As in gather.cu.
#[derive(Clone, Copy)]
#[repr(C)]
struct Moves {
    count: u32,
    pairs: [[u32; 2]; 256],
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadData(module: *mut *mut c_void, image: *const c_void) -> u32 {
    if device::current().is_none() {
        return INVALID_CONTEXT;
    }
    let text = unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy();
    if !text.contains(".visible .entry move_runs(") {
        return INVALID_VALUE;
    }
    unsafe { module.write(HANDLE as *mut c_void) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleUnload(_module: *mut c_void) -> u32 {
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    function: *mut *mut c_void,
    module: *mut c_void,
    name: *const c_char,
) -> u32 {
    if unsafe { CStr::from_ptr(name) } != MOVE_RUNS {
        return NOT_FOUND;
    }
    unsafe { function.write(module) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: *mut c_void,
    _grid_x: u32,
    _grid_y: u32,
    _grid_z: u32,
    _block_x: u32,
    _block_y: u32,
    _block_z: u32,
    _shared_bytes: u32,
    stream: *mut c_void,
    arguments: *mut *mut c_void,
    _extra: *mut *mut c_void,
) -> u32 {
    if device::current().is_none() {
        return INVALID_CONTEXT;
    }
    if function.addr() != HANDLE {
        return INVALID_VALUE;
    }
    // As for the driver, the arguments are read now.
    let (runs, count, ring, stride, is_scatter, moves) = unsafe {
        let at = |index| *arguments.add(index);
        (
            *at(0).cast::<u64>(),
            *at(1).cast::<u32>(),
            *at(2).cast::<u64>(),
            *at(3).cast::<u64>(),
            *at(4).cast::<u32>() != 0,
            *at(5).cast::<Moves>(),
        )
    };
    stream_of(stream).then(move || unsafe { move_runs(runs, count, ring, stride, is_scatter, &moves) });
    SUCCESS
}

unsafe fn move_runs(runs: u64, count: u32, ring: u64, stride: u64, is_scatter: bool, moves: &Moves) {
    for [block, slot] in &moves.pairs[..moves.count as usize] {
        for index in 0..count as usize {
            let run = unsafe { *(runs as *const Run).add(index) };
            let block = run.address + u64::from(*block) * run.block_stride;
            let slot = ring + u64::from(*slot) * stride + run.page_offset;
            let (to, from) = if is_scatter { (block, slot) } else { (slot, block) };
            for address in [to, from] {
                let table = table();
                assert!(
                    find(&table, address as usize, run.length as usize).is_some(),
                    "a kernel touches {address:#x}"
                );
            }
            unsafe { libc::memmove(to as *mut c_void, from as *const c_void, run.length as usize) };
        }
    }
}
