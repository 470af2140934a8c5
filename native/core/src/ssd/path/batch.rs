//! Blocks under way to a path.

use super::super::format::{Record, UNIT};
use super::super::index::{Entry, Handle, SpaceInfo, check_of};
use super::super::io::Buffer;
use super::super::queue::Queued;
use super::open_segment::Room;
use super::{Path, SegmentPin};
use crate::error::Result;
use crate::pool::PagePtr;
use crate::sync::Arc;

/// A block that a path has taken.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) space: Arc<SpaceInfo>,
    hash: [u8; 32],
    checksums: Vec<u128>,
    uses: u8,
    origin: Origin,
}

/// Where a block comes from.
#[derive(Debug)]
enum Origin {
    /// It was accepted.
    Queue(Queued),
    /// It lies in a segment that is to be emptied.
    Segment {
        handle: Handle,
        buffer: Buffer,
        _pin: SegmentPin,
    },
}

impl Block {
    /// A block that was accepted.
    pub(super) fn accepted(mut queued: Queued) -> Self {
        Self {
            space: Arc::clone(&queued.space),
            hash: queued.hash,
            checksums: std::mem::take(&mut queued.write.checksums),
            uses: 0,
            origin: Origin::Queue(queued),
        }
    }

    /// A block that was read from where it lies, and is what was saved.
    pub(super) fn kept(entry: &Entry, checksums: Vec<u128>, kept: Kept) -> Self {
        Self {
            space: kept.space,
            hash: entry.hash,
            checksums,
            uses: entry.uses,
            origin: Origin::Segment {
                handle: kept.handle,
                buffer: kept.buffer,
                _pin: kept.pin,
            },
        }
    }

    /// Where it lay, if it has been in the tier before.
    pub(super) fn origin(&self) -> Option<Handle> {
        match self.origin {
            Origin::Queue(_) => None,
            Origin::Segment { handle, .. } => Some(handle),
        }
    }

    /// What the disk gets.
    fn memory(&mut self) -> Vec<PagePtr> {
        match &mut self.origin {
            Origin::Queue(queued) => queued.write.pages.iter().map(|page| page.padded()).collect(),
            Origin::Segment { buffer, .. } => vec![buffer.page().part(0, self.space.padded_bytes as usize)],
        }
    }

    /// The disk has it: its pages may change.
    fn let_go(&mut self) {
        if let Origin::Queue(queued) = &mut self.origin {
            queued.write.keep = Box::new(());
        }
    }

    /// It can be found, or will not be.
    pub(super) fn end(self, path: &Path, result: Result<()>) {
        if let Origin::Queue(queued) = self.origin {
            path.tier.queue.end(queued, result);
        }
    }
}

/// What was read of a block that is to be kept.
#[derive(Debug)]
pub(in crate::ssd) struct Kept {
    pub(super) handle: Handle,
    pub(super) space: Arc<SpaceInfo>,
    pub(super) buffer: Buffer,
    pub(super) pin: SegmentPin,
}

/// A block with its place.
#[derive(Debug)]
pub(super) struct Placed {
    pub(super) block: Block,
    pub(super) room: Room,
}

impl Placed {
    /// What the index knows of it.
    pub(super) fn entry(&self) -> Entry {
        Entry {
            hash: self.block.hash,
            check: check_of(&self.block.checksums),
            offset: self.offset(),
            space: self.block.space.id.0,
            uses: self.block.uses,
            is_used: false,
        }
    }

    /// What the journal knows of it.
    pub(super) fn record(&self) -> Record {
        Record::Block {
            space: self.block.space.id.0,
            uses: self.block.uses,
            offset: self.offset(),
            hash: self.block.hash,
            checksums: self.block.checksums.clone(),
        }
    }

    fn offset(&self) -> u32 {
        (self.room.offset / UNIT) as u32
    }
}

/// Blocks side by side in one segment, which are written at once.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) number: u64,
    /// That of its segment.
    pub(super) generation: u64,
    pub(super) blocks: Vec<Placed>,
    pub(super) is_written: bool,
}

impl Batch {
    /// What the disk gets.
    pub(super) fn memory(&mut self) -> Vec<PagePtr> {
        self.blocks
            .iter_mut()
            .flat_map(|placed| placed.block.memory())
            .collect()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.blocks
            .iter()
            .map(|placed| placed.block.space.padded_bytes)
            .sum()
    }

    /// The disk has all of it.
    pub(super) fn written(&mut self) {
        self.is_written = true;
        self.blocks.iter_mut().for_each(|placed| placed.block.let_go());
    }
}
