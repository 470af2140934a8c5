//! One call's copies: neighbours joined, and what cannot go directly set apart.

use crate::cuda::{Piece, PinnedPool};
use crate::layout::CopyRun;
use crate::pool::PagePtr;

/// The pieces of one call. Not checked for being pinned yet.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pieces: Vec<Piece>,
}

/// The same pieces, by the way that they go.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// Pinned: the copy engines reach them.
    pub(super) direct: Vec<Piece>,
    /// Not pinned: by way of a buffer.
    pub(super) staged: Vec<Piece>,
}

impl Plan {
    /// Adds a run of a block, which must lie within `page`; one that continues the last on both sides is part of it.
    pub(super) fn push(&mut self, page: PagePtr, run: CopyRun) {
        let piece = Piece {
            host: page.as_ptr().wrapping_add(run.page_offset as usize),
            device: run.address,
            length: run.length,
        };
        match self.pieces.last_mut() {
            Some(last) if follows(last, &piece) => last.length += piece.length,
            _ => self.pieces.push(piece),
        }
    }

    /// Bytes of all pieces.
    pub(super) fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.length).sum()
    }

    /// The pieces, parted in the same way, where there are few and all are pinned by now: what can be begun at once.
    pub(super) fn soon(&self, most: usize, pool: &PinnedPool) -> Option<Vec<Piece>> {
        let Ways { direct, staged } = self.part_by(|host, length| {
            let part = pool.look(host, length);
            (part.length, part.is_pinned)
        });
        (staged.is_empty() && direct.len() <= most).then_some(direct)
    }

    /// Parts the pieces where their memory is pinned apart, and pins what is not pinned yet.
    pub(super) fn part(&self, pool: &PinnedPool) -> Ways {
        self.part_by(|host, length| {
            let part = pool.pin(host, length);
            (part.length, part.is_pinned)
        })
    }

    fn part_by(&self, mut pin: impl FnMut(*const u8, u64) -> (u64, bool)) -> Ways {
        let mut ways = Ways::default();
        for piece in &self.pieces {
            let mut done = 0;
            while done < piece.length {
                let host = piece.host.wrapping_add(done as usize);
                let (length, is_pinned) = pin(host, piece.length - done);
                let way = if is_pinned {
                    &mut ways.direct
                } else {
                    &mut ways.staged
                };
                way.push(Piece {
                    host,
                    device: piece.device + done,
                    length,
                });
                done += length;
            }
        }
        ways
    }
}

fn follows(last: &Piece, next: &Piece) -> bool {
    last.device + last.length == next.device && last.host.wrapping_add(last.length as usize) == next.host
}

#[cfg(test)]
mod tests {
    use std::ptr::NonNull;

    use super::*;

    const PAGE: usize = 4_096;

    fn run(address: u64, page_offset: u64, length: u64) -> CopyRun {
        CopyRun {
            address,
            page_offset,
            length,
        }
    }

    fn page(memory: &mut [u8], index: usize) -> PagePtr {
        PagePtr::new(NonNull::from(&mut memory[index * PAGE..][..PAGE]).cast(), PAGE)
    }

    #[test]
    fn only_runs_that_continue_each_other_on_both_sides_are_joined() {
        let mut memory = vec![0; 4 * PAGE];
        let mut plan = Plan::default();
        plan.push(page(&mut memory, 0), run(1 << 20, 0, 4_096));
        plan.push(page(&mut memory, 1), run((1 << 20) + 4_096, 0, 4_096));
        // Continues in the GPU, not in the host.
        plan.push(page(&mut memory, 3), run((1 << 20) + 8_192, 0, 2_048));
        // Continues in the host, not in the GPU.
        plan.push(page(&mut memory, 3), run(1 << 30, 2_048, 2_048));
        let lengths: Vec<u64> = plan.pieces.iter().map(|piece| piece.length).collect();
        assert_eq!(lengths, [8_192, 2_048, 2_048]);
    }

    #[test]
    fn pieces_are_cut_where_memory_is_pinned_apart_and_every_byte_goes_once() {
        let mut memory = vec![0; 3 * PAGE];
        let begin = memory.as_ptr().addr();
        let mut plan = Plan::default();
        for index in 0..3 {
            plan.push(
                page(&mut memory, index),
                run((index * PAGE) as u64, 0, PAGE as u64),
            );
        }
        // Chunks of 3,000 bytes, of which the second is not pinned.
        let ways = plan.part_by(|host, length| {
            let offset = host.addr() - begin;
            (length.min((3_000 - offset % 3_000) as u64), offset / 3_000 != 1)
        });
        let spans = |pieces: &[Piece]| -> Vec<(usize, u64, u64)> {
            pieces
                .iter()
                .map(|piece| (piece.host.addr() - begin, piece.device, piece.length))
                .collect()
        };
        assert_eq!(spans(&ways.staged), [(3_000, 3_000, 3_000)]);
        assert_eq!(
            spans(&ways.direct),
            [
                (0, 0, 3_000),
                (6_000, 6_000, 3_000),
                (9_000, 9_000, 3_000),
                (12_000, 12_000, 288)
            ]
        );
    }
}
