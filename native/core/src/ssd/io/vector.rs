//! What is left to do of a transfer that systems do in parts.

use std::io;

use libc::iovec;

use super::{Action, Op};

/// Pieces that one call takes.
const MOST_PIECES: usize = 1024;
/// Bytes that one call moves at most: the kernel's own limit is a little below 2 GiB.
const MOST_BYTES: usize = 1 << 30;

/// A transfer under way.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) op: Op,
    /// Bytes moved so far.
    moved: u64,
    /// What the next call is given.
    pieces: Vec<iovec>,
}

#[expect(unsafe_code, reason = "addresses of pages go to the engine's thread")]
// SAFETY: the pieces are addresses of the op's pages, which may be sent; only the kernel follows them.
unsafe impl Send for Transfer {}

impl Transfer {
    pub(super) fn new(op: Op) -> Self {
        let mut transfer = Self {
            op,
            moved: 0,
            pieces: Vec::new(),
        };
        transfer.fill();
        transfer
    }

    /// Where in the file the next call begins.
    pub(super) fn offset(&self) -> u64 {
        self.op.offset + self.moved
    }

    /// The memory of the next call.
    pub(super) fn pieces(&self) -> &[iovec] {
        &self.pieces
    }

    /// Takes the answer of a call: None while bytes are left to move.
    pub(super) fn advance(&mut self, answer: io::Result<usize>) -> Option<io::Result<()>> {
        match answer {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => None,
            Err(error) => Some(Err(error)),
            Ok(_) if self.op.action == Action::Sync => Some(Ok(())),
            Ok(0) if self.op.action == Action::Read => Some(Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the file is shorter than what was written to it",
            ))),
            Ok(0) => Some(Err(io::ErrorKind::WriteZero.into())),
            Ok(moved) => {
                self.moved += moved as u64;
                self.fill();
                self.pieces.is_empty().then_some(Ok(()))
            }
        }
    }

    /// The pieces behind what was moved, as many as one call takes.
    fn fill(&mut self) {
        self.pieces.clear();
        let mut skip = self.moved;
        let mut room = MOST_BYTES;
        for page in &self.op.memory {
            let skipped = skip.min(page.len() as u64);
            skip -= skipped;
            let rest = page.part(skipped as usize, page.len());
            let len = rest.len().min(room);
            if len > 0 && self.pieces.len() < MOST_PIECES {
                room -= len;
                self.pieces.push(iovec {
                    iov_base: rest.as_ptr().cast(),
                    iov_len: len,
                });
            }
        }
    }

    /// Tells the end.
    pub(super) fn end(self, result: io::Result<()>) {
        (self.op.done)(result);
    }
}
