//! Memory of the tier's own that begins where transfers have to.

use std::ptr::NonNull;

use crate::pool::PagePtr;
use crate::ssd::format::UNIT;

/// Bytes that begin at a multiple of 4,096, and are as many.
#[derive(Debug)]
pub(in crate::ssd) struct Buffer {
    /// With room to begin later.
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    /// Zeros, at least `len` of them.
    pub(in crate::ssd) fn new(len: usize) -> Self {
        let unit = UNIT as usize;
        let len = len.next_multiple_of(unit).max(unit);
        let bytes = vec![0; len + unit];
        let start = bytes.as_ptr().align_offset(unit).min(unit);
        Self { bytes, start, len }
    }

    /// A copy of `bytes`, zeros behind.
    pub(in crate::ssd) fn of(bytes: &[u8]) -> Self {
        let mut buffer = Self::new(bytes.len());
        if let Some(place) = buffer.bytes.get_mut(buffer.start..buffer.start + bytes.len()) {
            place.copy_from_slice(bytes);
        }
        buffer
    }

    /// All of it.
    pub(in crate::ssd) fn bytes(&self) -> &[u8] {
        self.bytes
            .get(self.start..self.start + self.len)
            .unwrap_or_default()
    }

    /// Its address for a transfer; the buffer has to outlive that, and is not looked at meanwhile.
    pub(in crate::ssd) fn page(&mut self) -> PagePtr {
        let start = self.bytes.as_mut_ptr().wrapping_add(self.start);
        PagePtr::new(NonNull::new(start).unwrap_or(NonNull::dangling()), self.len)
    }
}
