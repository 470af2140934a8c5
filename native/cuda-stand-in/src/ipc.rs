//! Handles of memory.

use crate::memory::{Allocation, Kind, table};
use crate::shared::{Handle, Shared, is_own};
use crate::{INVALID_CONTEXT, INVALID_VALUE, SUCCESS, device};

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuIpcGetMemHandle(handle: *mut Handle, pointer: u64) -> u32 {
    match table().get(&(pointer as usize)) {
        Some(allocation) if allocation.kind == Kind::Plain => {
            unsafe { handle.write(allocation.handle) };
            SUCCESS
        }
        _ => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuIpcOpenMemHandle_v2(pointer: *mut u64, handle: Handle, _flags: u32) -> u32 {
    let Some(ordinal) = device::current() else {
        return INVALID_CONTEXT;
    };
    if is_own(&handle) {
        return INVALID_CONTEXT;
    }
    let mut table = table();
    let known = table
        .iter_mut()
        .find(|(_, allocation)| allocation.opened > 0 && allocation.handle == handle);
    if let Some((&address, allocation)) = known {
        allocation.opened += 1;
        unsafe { pointer.write(address as u64) };
        return SUCCESS;
    }
    let Some(memory) = Shared::open(&handle) else {
        return INVALID_VALUE;
    };
    let address = memory.address;
    let allocation = Allocation {
        memory,
        kind: Kind::Plain,
        ordinal,
        opened: 1,
        handle,
    };
    table.insert(address, allocation);
    unsafe { pointer.write(address as u64) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuIpcCloseMemHandle(pointer: u64) -> u32 {
    let mut table = table();
    match table.get_mut(&(pointer as usize)) {
        Some(allocation) if allocation.opened > 0 => {
            allocation.opened -= 1;
            if allocation.opened == 0 {
                table.remove(&(pointer as usize));
            }
            SUCCESS
        }
        _ => INVALID_VALUE,
    }
}
