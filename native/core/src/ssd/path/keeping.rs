//! Second chance: blocks that were read since they were written are written again before their segment is emptied.

use std::collections::VecDeque;
use std::io;

use super::super::budget::today;
use super::super::format::UNIT;
use super::super::inbox::Event;
use super::super::index::{Entry, Handle, SegmentId, check_of};
use super::super::io::{Action, Buffer, Op};
use super::batch::{Block, Kept};
use super::share::Rivals;
use super::writer::Writer;
use super::{Segment, SegmentPin};
use crate::error::Result;
use crate::sync::Arc;

/// The share of a segment that is kept at most: the rest of what is written is new.
const SHARE: u64 = 4;
/// Blocks that are read or written anew at one time.
const AT_ONCE: usize = 4;

/// A segment that is being emptied.
#[derive(Debug)]
pub(super) struct Keeping {
    id: SegmentId,
    segment: Arc<Segment>,
    candidates: VecDeque<Handle>,
    /// Bytes that may be kept yet.
    bytes_left: u64,
    /// Whether a block was left out for want of bytes.
    is_full: bool,
    /// Blocks that are being read.
    pub(super) reads: usize,
    /// Blocks that were read and cannot be found in their new place yet.
    writes: usize,
}

impl Writer {
    /// Begins to empty the oldest segment when the next head has to come from there, and no other path has room.
    pub(super) fn begin_keeping(&mut self) {
        self.is_last_head &= self.ring.free.is_empty() && self.is_at_capacity();
        if !self.is_last_head || self.keeping.is_some() || Rivals::of(&self.path).have_room() {
            return;
        }
        self.is_last_head = false;
        if let Some((id, segment)) = self.ring.full.front() {
            self.keeping = Some(Keeping {
                id: *id,
                segment: Arc::clone(segment),
                candidates: self.path.tier.index.lock().used_in(*id),
                bytes_left: segment.bytes / SHARE,
                is_full: false,
                reads: 0,
                writes: 0,
            });
        }
    }

    /// Reads more of what is to be kept; lets the segment go when there is no more.
    pub(super) fn keep_used(&mut self) -> Result<()> {
        let engine = self.engine();
        let Some(keeping) = &mut self.keeping else {
            return Ok(());
        };
        if keeping.candidates.is_empty() && keeping.reads + keeping.writes == 0 && !keeping.is_full {
            // What was read since the last look.
            keeping.candidates = self.path.tier.index.lock().used_in(keeping.id);
        }
        while keeping.reads + keeping.writes < AT_ONCE
            && let Some(handle) = keeping.candidates.pop_front()
        {
            let index = self.path.tier.index.lock();
            let Some(found) = index.found(handle).filter(|_| index.is_live(handle)) else {
                continue;
            };
            drop(index);
            let bytes = found.space.padded_bytes;
            if bytes > keeping.bytes_left || !self.path.tier.budget.take(today(), bytes) {
                keeping.is_full = true;
                continue;
            }
            keeping.bytes_left -= bytes;
            keeping.reads += 1;
            let mut buffer = Buffer::new(bytes as usize);
            let memory = vec![buffer.page()];
            let kept = Kept {
                handle,
                space: found.space,
                buffer,
                pin: SegmentPin::new(&keeping.segment),
            };
            let (path, entry) = (Arc::clone(&self.path), found.entry);
            engine.submit(Op {
                action: Action::Read,
                file: Arc::clone(&keeping.segment.file),
                offset: u64::from(entry.offset) * UNIT,
                memory,
                done: Box::new(move |result| path.inbox.tell(Event::KeptRead(entry, kept, result))),
            });
        }
        if keeping.reads + keeping.writes == 0 {
            self.is_recycling = true;
            self.retire_oldest();
            self.ring.collect_drained(&mut self.safety)?;
        }
        Ok(())
    }

    /// A block was read: it is written again if it is what was saved.
    pub(super) fn kept_read(&mut self, entry: &Entry, mut kept: Kept, result: io::Result<()>) {
        let is_current = self
            .keeping
            .as_mut()
            .filter(|keeping| keeping.id == kept.handle.segment());
        let Some(keeping) = is_current else { return };
        keeping.reads -= 1;
        let path = &self.path;
        if let Err(error) = result {
            path.tier.remove(kept.handle);
            path.count_read_error(&error);
            return;
        }
        let memory = kept.buffer.page();
        let checksums = kept.space.checksums(&entry.hash, &kept.space.pages_in(memory));
        if check_of(&checksums) == entry.check {
            keeping.writes += 1;
            self.kept.push_back(Block::kept(entry, checksums, kept));
        } else if path.tier.remove(kept.handle) {
            path.counts.corrupt_blocks.add(1);
        }
    }

    /// The next block that was read to be kept, unless it was removed meanwhile.
    pub(super) fn next_kept(&mut self) -> Option<Block> {
        while let Some(block) = self.kept.pop_front() {
            let is_live = |handle| self.path.tier.index.lock().is_live(handle);
            if block.origin().is_some_and(is_live) {
                return Some(block);
            }
            self.end_kept(&block);
        }
        None
    }

    /// Segments have become too small for a block that was to be kept: it goes, or it would be tried for ever.
    pub(super) fn drop_kept(&mut self, block: &Block) {
        if let Some(handle) = block.origin() {
            self.path.tier.remove(handle);
            self.end_kept(block);
        }
    }

    /// A block can be found in its new place, if it was one to be kept.
    pub(super) fn kept_written(&mut self, block: &Block) {
        if block.origin().is_some() {
            self.path.counts.kept_blocks.add(1);
            self.end_kept(block);
        }
    }

    fn end_kept(&mut self, block: &Block) {
        let segment = block.origin().map(Handle::segment);
        let keeping = self
            .keeping
            .as_mut()
            .filter(|keeping| Some(keeping.id) == segment);
        if let Some(keeping) = keeping {
            keeping.writes -= 1;
        }
    }
}
