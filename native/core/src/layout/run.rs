//! Contiguous bytes of a block, in memory and in its page.

/// A run of block 0; the same run of block `b` lies `b * block_stride` further in memory, and at the same place in its page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Address of block 0's bytes.
    pub(super) address: u64,
    /// Bytes from one block to the next.
    pub(super) block_stride: u64,
    /// Where the run begins in the page.
    pub(super) page_offset: u64,
    /// Bytes.
    pub(super) length: u64,
}

impl Run {
    /// Takes `next` in if it follows in memory for every block and in the page.
    pub(super) fn absorb(&mut self, next: &Self) -> bool {
        let follows = self.block_stride == next.block_stride
            && self.address + self.length == next.address
            && self.page_offset + self.length == next.page_offset;
        if follows {
            self.length += next.length;
        }
        follows
    }

    pub(super) fn of_block(&self, block: u32) -> CopyRun {
        CopyRun {
            address: self.address + u64::from(block) * self.block_stride,
            page_offset: self.page_offset,
            length: self.length,
        }
    }
}

/// A run of one block: `length` bytes at `address` are the bytes of its page from `page_offset` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyRun {
    /// Where the bytes are in the engine's address space.
    pub address: u64,
    /// Where they are in the page.
    pub page_offset: u64,
    /// Bytes.
    pub length: u64,
}
