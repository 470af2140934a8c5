//! Streams, whose work is done in order, and events.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::shared::{Handle, Shared, is_own};
use crate::{INVALID_CONTEXT, INVALID_VALUE, NOT_READY, SUCCESS, device};

/// Two words: how often the event was recorded, and up to which record its stream has come.
struct Event(Shared);

impl Event {
    fn word(&self, index: usize) -> &AtomicU64 {
        unsafe { &*(self.0.address as *const AtomicU64).add(index) }
    }
}

/// Work in order: the thread that does the last of it, after all that was before.
#[derive(Default)]
pub(crate) struct Stream(Mutex<Option<JoinHandle<()>>>);

impl Stream {
    /// Does it when all before has been done; now if that is so already.
    pub(crate) fn then(&self, work: impl FnOnce() + Send + 'static) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match last.take_if(|before| !before.is_finished()) {
            Some(before) => *last = Some(thread::spawn(move || after(before, work))),
            None => work(),
        }
    }

    fn be_busy(&self, time: Duration) {
        let mut end = None;
        self.be_busy_until(move || *end.get_or_insert_with(|| Instant::now() + time) <= Instant::now());
    }

    fn be_busy_until(&self, mut is_over: impl FnMut() -> bool + Send + 'static) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = last.take();
        *last = Some(thread::spawn(move || {
            before.map(JoinHandle::join);
            while !is_over() {
                thread::sleep(Duration::from_micros(100));
            }
        }));
    }
}

fn after(before: JoinHandle<()>, work: impl FnOnce()) {
    drop(before.join());
    work();
}

/// The default stream.
static DEFAULT: Stream = Stream(Mutex::new(None));

pub(crate) fn stream_of(stream: *mut c_void) -> &'static Stream {
    if stream.is_null() {
        &DEFAULT
    } else {
        unsafe { &*stream.cast::<Stream>() }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(stream: *mut *mut c_void, _flags: u32) -> u32 {
    if device::current().is_none() {
        return INVALID_CONTEXT;
    }
    unsafe { stream.write(Box::into_raw(Box::<Stream>::default()).cast()) };
    SUCCESS
}

/// No stream is more important than another.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxGetStreamPriorityRange(least: *mut i32, greatest: *mut i32) -> u32 {
    unsafe {
        least.write(0);
        greatest.write(0);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreateWithPriority(
    stream: *mut *mut c_void,
    flags: u32,
    _priority: i32,
) -> u32 {
    unsafe { cuStreamCreate(stream, flags) }
}

/// The event as it is recorded now: what is recorded later is not waited for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamWaitEvent(stream: *mut c_void, event: *mut c_void, _flags: u32) -> u32 {
    let event = event.cast::<Event>().cast_const();
    let shared = unsafe {
        Arc::increment_strong_count(event);
        Arc::from_raw(event)
    };
    let record = shared.word(0).load(Ordering::SeqCst);
    if shared.word(1).load(Ordering::SeqCst) < record {
        stream_of(stream).be_busy_until(move || shared.word(1).load(Ordering::SeqCst) >= record);
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamDestroy_v2(stream: *mut c_void) -> u32 {
    drop(unsafe { Box::from_raw(stream.cast::<Stream>()) });
    SUCCESS
}

/// As a kernel of so many milliseconds.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn standInBusy(stream: *mut c_void, milliseconds: u64) -> u32 {
    stream_of(stream).be_busy(Duration::from_millis(milliseconds));
    SUCCESS
}

/// Done when what is in the stream has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuMemsetD8Async(device: u64, value: u8, length: usize, stream: *mut c_void) -> u32 {
    stream_of(stream).then(move || unsafe {
        std::ptr::write_bytes(
            std::ptr::with_exposed_provenance_mut::<u8>(device as usize),
            value,
            length,
        );
    });
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventCreate(event: *mut *mut c_void, _flags: u32) -> u32 {
    if device::current().is_none() {
        return INVALID_CONTEXT;
    }
    let Some(memory) = Shared::new(4_096) else {
        return INVALID_VALUE;
    };
    unsafe { event.write(Arc::into_raw(Arc::new(Event(memory))).cast_mut().cast()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventRecord(event: *mut c_void, stream: *mut c_void) -> u32 {
    if device::current().is_none() {
        return INVALID_CONTEXT;
    }
    let event = event.cast::<Event>().cast_const();
    let shared = unsafe {
        Arc::increment_strong_count(event);
        Arc::from_raw(event)
    };
    let record = shared.word(0).fetch_add(1, Ordering::SeqCst) + 1;
    stream_of(stream).then(move || {
        shared.word(1).fetch_max(record, Ordering::SeqCst);
    });
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventQuery(event: *mut c_void) -> u32 {
    let event = unsafe { &*event.cast::<Event>() };
    let passed = event.word(1).load(Ordering::SeqCst);
    if passed >= event.word(0).load(Ordering::SeqCst) {
        SUCCESS
    } else {
        NOT_READY
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuEventDestroy_v2(event: *mut c_void) -> u32 {
    drop(unsafe { Arc::from_raw(event.cast::<Event>().cast_const()) });
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuIpcGetEventHandle(handle: *mut Handle, event: *mut c_void) -> u32 {
    unsafe { handle.write((*event.cast::<Event>()).0.handle()) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuIpcOpenEventHandle(event: *mut *mut c_void, handle: Handle) -> u32 {
    if is_own(&handle) {
        return INVALID_CONTEXT;
    }
    let Some(memory) = Shared::open(&handle) else {
        return INVALID_VALUE;
    };
    unsafe { event.write(Arc::into_raw(Arc::new(Event(memory))).cast_mut().cast()) };
    SUCCESS
}
