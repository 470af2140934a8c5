//! Device memory: allocated here, or mapped from another process.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::shared::{Handle, Shared};
use crate::{INVALID_CONTEXT, INVALID_VALUE, SUCCESS, device};

/// How memory came about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    /// Of an asynchronous pool.
    Pool,
    /// Mapped piece by piece.
    Virtual,
}

pub(crate) struct Allocation {
    pub(crate) memory: Shared,
    pub(crate) kind: Kind,
    pub(crate) ordinal: usize,
    /// Times that a handle of another process was opened; 0 for memory of this one.
    pub(crate) opened: usize,
    pub(crate) handle: Handle,
}

type Table = BTreeMap<usize, Allocation>;

pub(crate) fn table() -> MutexGuard<'static, Table> {
    static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The allocation that holds all these bytes.
pub(crate) fn find(table: &Table, address: usize, bytes: usize) -> Option<(usize, &Allocation)> {
    let (&base, allocation) = table.range(..=address).next_back()?;
    (address.checked_add(bytes)? <= base + allocation.memory.bytes).then_some((base, allocation))
}

fn allocate(pointer: *mut u64, bytes: usize, kind: Kind) -> u32 {
    let Some(ordinal) = device::current() else {
        return INVALID_CONTEXT;
    };
    let Some(memory) = Shared::new(bytes) else {
        return INVALID_VALUE;
    };
    let address = memory.address;
    let allocation = Allocation {
        handle: memory.handle(),
        memory,
        kind,
        ordinal,
        opened: 0,
    };
    table().insert(address, allocation);
    unsafe { pointer.write(address as u64) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAlloc_v2(pointer: *mut u64, bytes: usize) -> u32 {
    allocate(pointer, bytes, Kind::Plain)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemAllocAsync(pointer: *mut u64, bytes: usize, _stream: *mut c_void) -> u32 {
    allocate(pointer, bytes, Kind::Pool)
}

/// Memory as expandable segments have it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn standInAllocateVirtual(pointer: *mut u64, bytes: usize) -> u32 {
    allocate(pointer, bytes, Kind::Virtual)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemFree_v2(pointer: u64) -> u32 {
    table()
        .remove(&(pointer as usize))
        .map_or(INVALID_VALUE, |_| SUCCESS)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemGetAddressRange_v2(base: *mut u64, bytes: *mut usize, pointer: u64) -> u32 {
    let table = table();
    let Some((found, allocation)) = find(&table, pointer as usize, 1) else {
        return INVALID_VALUE;
    };
    if !base.is_null() {
        unsafe { base.write(found as u64) };
    }
    if !bytes.is_null() {
        unsafe { bytes.write(allocation.memory.bytes) };
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuPointerGetAttribute(value: *mut c_void, attribute: u32, pointer: u64) -> u32 {
    let table = table();
    let Some((_, allocation)) = find(&table, pointer as usize, 1) else {
        return INVALID_VALUE;
    };
    match attribute {
        9 => unsafe { value.cast::<i32>().write(allocation.ordinal as i32) },
        10 => unsafe { value.cast::<i32>().write((allocation.kind == Kind::Plain).into()) },
        17 => unsafe {
            value
                .cast::<usize>()
                .write((allocation.kind == Kind::Pool).into())
        },
        _ => return INVALID_VALUE,
    }
    SUCCESS
}
