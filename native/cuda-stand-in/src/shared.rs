//! Memory in a file that other processes can open by this process's pid.

use std::ffi::c_int;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// What names memory or an event to other processes.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Handle([u8; 64]);

/// A mapped file; unmapped and closed when dropped.
pub(crate) struct Shared {
    pub(crate) address: usize,
    pub(crate) bytes: usize,
    pub(crate) fd: c_int,
    /// Tells it from what had the descriptor's number before.
    serial: u64,
}

static SERIAL: AtomicU64 = AtomicU64::new(1);

impl Shared {
    /// New memory, of zeros.
    pub(crate) fn new(bytes: usize) -> Option<Self> {
        let fd = unsafe { libc::memfd_create(c"cuda-stand-in".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 || unsafe { libc::ftruncate(fd, bytes as libc::off_t) } != 0 {
            return None;
        }
        Self::map(fd, bytes)
    }

    /// What a handle of another process names.
    pub(crate) fn open(handle: &Handle) -> Option<Self> {
        let (pid, fd, bytes) = parse(handle)?;
        let path = format!("/proc/{pid}/fd/{fd}\0");
        let fd = unsafe { libc::open(path.as_ptr().cast(), libc::O_RDWR | libc::O_CLOEXEC) };
        (fd >= 0).then(|| Self::map(fd, bytes)).flatten()
    }

    /// What names it to other processes.
    pub(crate) fn handle(&self) -> Handle {
        let mut handle = [0; 64];
        handle[..8].copy_from_slice(b"STANDIN1");
        handle[8..12].copy_from_slice(&std::process::id().to_le_bytes());
        handle[12..16].copy_from_slice(&self.fd.to_le_bytes());
        handle[16..24].copy_from_slice(&(self.bytes as u64).to_le_bytes());
        handle[24..32].copy_from_slice(&self.serial.to_le_bytes());
        Handle(handle)
    }

    fn map(fd: c_int, bytes: usize) -> Option<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let address = unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, fd, 0) };
        (address != libc::MAP_FAILED).then(|| Self {
            address: address.expose_provenance(),
            bytes,
            fd,
            serial: SERIAL.fetch_add(1, Ordering::Relaxed),
        })
    }
}

/// Whether the handle is of this process.
pub(crate) fn is_own(handle: &Handle) -> bool {
    parse(handle).is_some_and(|(pid, ..)| pid == std::process::id())
}

fn parse(handle: &Handle) -> Option<(u32, c_int, usize)> {
    let handle = &handle.0;
    let word = |at: usize| -> Option<u32> { Some(u32::from_le_bytes(handle[at..at + 4].try_into().ok()?)) };
    let bytes = u64::from_le_bytes(handle[16..24].try_into().ok()?);
    (&handle[..8] == b"STANDIN1").then_some((word(8)?, word(12)? as c_int, bytes as usize))
}

impl Drop for Shared {
    fn drop(&mut self) {
        unsafe {
            libc::munmap(self.address as *mut libc::c_void, self.bytes);
            libc::close(self.fd);
        }
    }
}
