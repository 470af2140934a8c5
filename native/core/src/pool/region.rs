//! A file mapped into this process.

use std::ptr::{self, NonNull};
use std::slice;

use rustix::fd::AsFd;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

use super::page::PagePtr;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::AtomicU64;

/// A shared, writable mapping of the first bytes of a file.
///
/// A byte may be touched only once the file has memory for it (`fallocate`): before that it is a SIGBUS.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    len: usize,
}

#[expect(unsafe_code, reason = "the mapping is no thread's own")]
// SAFETY: the mapping belongs to the process, and it is reached through atomics and raw addresses only.
unsafe impl Send for Region {}
#[expect(unsafe_code, reason = "the mapping is no thread's own")]
// SAFETY: as for Send.
unsafe impl Sync for Region {}

impl Region {
    /// Maps `len` bytes of `file`, which may be shorter. Nothing is set aside for what it does not have yet.
    pub(super) fn map(file: impl AsFd, len: u64, what: &str) -> Result<Self> {
        let too_large = || {
            Error::new(
                ErrorKind::Config,
                format!("{what} of {len} bytes cannot be mapped"),
            )
        };
        let len = usize::try_from(len).map_err(|_| too_large())?;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        #[expect(unsafe_code, reason = "mapping memory")]
        // SAFETY: a null hint lets the kernel choose addresses that nothing else uses.
        let start = unsafe {
            mmap(
                ptr::null_mut(),
                len,
                access,
                MapFlags::SHARED | MapFlags::NORESERVE,
                file,
                0,
            )
        }
        .map_err(|errno| Error::io(format_args!("map {what} of {len} bytes"), errno.into()))?;
        let start = NonNull::new(start.cast::<u8>()).ok_or_else(too_large)?;
        Ok(Self { start, len })
    }

    /// The whole mapping.
    pub(super) fn whole(&self) -> PagePtr {
        PagePtr::new(self.start, self.len)
    }

    /// The address of `len` bytes at `offset`; None outside of the mapping.
    pub(super) fn page(&self, offset: u64, len: usize) -> Option<PagePtr> {
        let offset = usize::try_from(offset).ok()?;
        if offset.checked_add(len)? > self.len {
            return None;
        }
        #[expect(unsafe_code, reason = "an address inside of the mapping")]
        // SAFETY: offset + len was checked to lie inside of the mapping.
        let start = unsafe { self.start.add(offset) };
        Some(PagePtr::new(start, len))
    }

    /// Fills the page tables for memory that the file has, which stays as it is; false when the kernel cannot.
    pub(super) fn populate(&self, offset: u64, len: u64) -> bool {
        let Some(page) = self.page(offset, len as usize) else {
            return false;
        };
        #[expect(unsafe_code, reason = "advice about the mapping")]
        // SAFETY: inside of the mapping; this advice changes no byte.
        unsafe { madvise(page.as_ptr().cast(), page.len(), Advice::LinuxPopulateWrite) }.is_ok()
    }

    /// `count` little-endian words at `offset`, a multiple of 8; None outside of the mapping.
    pub(super) fn words(&self, offset: u64, count: usize) -> Option<&[AtomicU64]> {
        let page = self.page(offset, count.checked_mul(8)?)?;
        if !offset.is_multiple_of(8) {
            return None;
        }
        let first = page.as_ptr().cast_const().cast::<AtomicU64>();
        #[expect(unsafe_code, reason = "words of the mapping")]
        // SAFETY: inside of the mapping, which lives as long as self; aligned, since the mapping is to 4 KiB;
        // and all access to these bytes, here and in other processes, is by atomic words.
        Some(unsafe { slice::from_raw_parts(first, count) })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        #[expect(unsafe_code, reason = "unmapping what map mapped")]
        // SAFETY: pages are handed out with an Arc of their store, so no address is in use any more.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
        if let Err(errno) = unmapped {
            tracing::error!(%errno, bytes = self.len, "cannot unmap the pool");
        }
    }
}
