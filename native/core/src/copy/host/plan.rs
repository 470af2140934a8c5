//! One call's copies, cut into parts of like size for the copy threads.

use std::ops::Range;
use std::sync::Arc;

use super::vectored::transfer;
use crate::copy::threads::Parts;
use crate::error::Result;
use crate::layout::CopyRun;
use crate::pool::PagePtr;
use crate::process::PeerProcess;

/// Bytes of a part: small enough that two threads end at nearly the same time, large enough for full calls.
const PART_BYTES: u64 = 512 << 10;

/// Which way the bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// From the engine into pages.
    Read,
    /// From pages into the engine.
    Write,
}

/// Bytes that are contiguous on both sides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub(super) local: *mut u8,
    pub(super) remote: u64,
    pub(super) length: u64,
}

/// The pieces of one call, in order, and where its parts are cut.
pub(super) struct Plan {
    direction: Direction,
    process: Arc<PeerProcess>,
    pieces: Vec<Piece>,
    parts: Vec<Range<usize>>,
    /// Bytes of the last part.
    filled: u64,
}

#[expect(unsafe_code, reason = "the pieces' addresses are used by the copy threads")]
// SAFETY: a piece points into a page that is lent to the call that made the plan, and `CopyThreads::run` returns only
// when no thread uses the plan any more; pieces do not overlap.
unsafe impl Send for Plan {}
#[expect(unsafe_code, reason = "as for Send")]
// SAFETY: as for Send; each part is run once, by one thread.
unsafe impl Sync for Plan {}

impl Plan {
    pub(super) fn new(direction: Direction, process: Arc<PeerProcess>) -> Self {
        Self {
            direction,
            process,
            pieces: Vec::new(),
            parts: Vec::new(),
            filled: PART_BYTES,
        }
    }

    /// Adds a run of a block; it must lie within `page`.
    pub(super) fn push(&mut self, page: PagePtr, run: CopyRun) {
        let mut done = 0;
        while done < run.length {
            if self.filled == PART_BYTES {
                self.parts.push(self.pieces.len()..self.pieces.len());
                self.filled = 0;
            }
            let length = (run.length - done).min(PART_BYTES - self.filled);
            self.pieces.push(Piece {
                local: page.as_ptr().wrapping_add((run.page_offset + done) as usize),
                remote: run.address + done,
                length,
            });
            if let Some(part) = self.parts.last_mut() {
                part.end = self.pieces.len();
            }
            self.filled += length;
            done += length;
        }
    }
}

impl Parts for Plan {
    fn count(&self) -> usize {
        self.parts.len()
    }

    fn run(&self, part: usize) -> Result<()> {
        let pieces = self
            .parts
            .get(part)
            .and_then(|range| self.pieces.get(range.clone()))
            .unwrap_or_default();
        transfer(self.direction, &self.process, pieces)
    }
}
