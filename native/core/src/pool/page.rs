//! Where a page is in this process.

use std::ptr::NonNull;

use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Address and length of a page's bytes: valid while the [`Hits`](crate::store::Hits) or
/// [`PageWriter`](crate::store::PageWriter) that gave it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagePtr {
    start: NonNull<u8>,
    len: usize,
}

#[expect(
    unsafe_code,
    reason = "an address may move between threads; using it is unsafe in itself"
)]
// SAFETY: the pointer is only an address here: whoever dereferences it has to hold the page's pin.
unsafe impl Send for PagePtr {}
#[expect(
    unsafe_code,
    reason = "an address may be read by several threads; using it is unsafe in itself"
)]
// SAFETY: as for Send.
unsafe impl Sync for PagePtr {}

impl PagePtr {
    /// The page of `len` bytes that begins at `start`.
    pub fn new(start: NonNull<u8>, len: usize) -> Self {
        Self { start, len }
    }

    /// The first byte; writing is for the holder of a `PageWriter` only.
    pub fn as_ptr(self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Bytes of the page.
    #[expect(clippy::len_without_is_empty, reason = "no page is empty")]
    pub fn len(self) -> usize {
        self.len
    }
}

impl PagePtr {
    /// `len` bytes from `offset` on; as many of them as there are.
    pub(crate) fn part(self, offset: usize, len: usize) -> Self {
        let offset = offset.min(self.len);
        let begin = NonNull::new(self.as_ptr().wrapping_add(offset)).unwrap_or(self.start);
        Self::new(begin, len.min(self.len - offset))
    }

    /// Copies a page that is sealed, and that the caller keeps from eviction, to one that is the caller's to write.
    pub(crate) fn copy_to(self, to: Self) {
        #[expect(unsafe_code, reason = "copying a page")]
        // SAFETY: both are inside of the mapping and no page overlaps another; nobody writes to a sealed page before it is
        // evicted, and nobody else knows of the other one.
        unsafe {
            std::ptr::copy_nonoverlapping(self.as_ptr(), to.as_ptr(), self.len.min(to.len));
        }
    }

    /// XXH3-128 of the bytes of a page that is sealed, and that the caller keeps from eviction.
    pub(crate) fn checksum(self, seed: u64) -> u128 {
        #[expect(unsafe_code, reason = "reading a page")]
        // SAFETY: inside of the mapping, and nobody writes to a sealed page before it is evicted.
        let bytes = unsafe { std::slice::from_raw_parts(self.as_ptr(), self.len) };
        xxh3_128_with_seed(bytes, seed)
    }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "tests look into pages")]
impl PagePtr {
    /// A copy of the bytes of a page that the caller has pinned.
    pub(crate) fn read(self) -> Vec<u8> {
        // SAFETY: the page is inside of the mapping, and while it is pinned nobody writes to it.
        unsafe { std::slice::from_raw_parts(self.as_ptr(), self.len) }.to_vec()
    }

    /// Fills the page of a writer that the caller has.
    pub(crate) fn write(self, bytes: &[u8]) {
        assert_eq!(bytes.len(), self.len);
        // SAFETY: the page is inside of the mapping, and only its writer touches it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.as_ptr(), self.len) }
    }
}
