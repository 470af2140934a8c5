//! A block's place on a disk, kept from reuse.

/// Where a block is: its bytes stay there as long as this lives.
#[derive(Debug)]
pub struct Extent {
    bytes: u64,
}

impl Extent {
    /// Bytes of the block's pages, without what pads them.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A read that may not have begun yet: dropping this takes such a read back, and its `done` is dropped uncalled.
#[derive(Debug)]
#[must_use = "dropping it takes the read back"]
pub struct ReadTicket {}

impl ReadTicket {
    /// Takes the read back unless it has begun; whether it was, so that `done` will never be called.
    pub fn cancel(self) -> bool {
        false
    }

    /// Lets the read go on by itself.
    pub fn detach(self) {}
}
