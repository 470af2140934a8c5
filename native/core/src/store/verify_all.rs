//! Comparing all pages with their checksums on request, instead of when they are loaded or when their turn comes.

use super::Store;
use crate::pool::Slot;
use crate::progress::Progress;

/// What a look at all of the memory tier found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verified {
    /// Pages that are what was saved.
    pub pages: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Pages that are not; their blocks are dropped.
    pub corrupt_pages: u64,
    /// Pages that have no checksum yet, and so cannot be compared.
    pub pending_pages: u64,
}

impl Store {
    /// Compares each page that is in memory now with its checksum, and drops the blocks of those that are not what was saved.
    ///
    /// `progress` counts pages, not blocks, and their bytes.
    pub fn verify_memory(&self, progress: &Progress) -> Verified {
        progress.expect(self.pool.used_pages(), self.pool.state().used_bytes);
        let mut verified = Verified::default();
        let mut next = Slot(0);
        while let Some(slot) = self.pool.next_taken(next).filter(|_| !progress.is_cancelled()) {
            self.inspect(slot, |space, block, record, page| {
                let bytes = page.len() as u64;
                progress.advance(1, bytes);
                if record.checksum.is_none() {
                    verified.pending_pages += 1;
                } else if self.compare(space, block, slot, record, page) {
                    verified.pages += 1;
                    verified.bytes += bytes;
                } else {
                    verified.corrupt_pages += 1;
                }
            });
            next = Slot(slot.0 + 1);
        }
        verified
    }
}
