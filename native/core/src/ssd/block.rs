//! Blocks on their way to the tier, and what is told about those that are in it.

use std::fmt;

use crate::error::Result;
use crate::pool::PagePtr;
use crate::space::{SpaceGeometry, SpaceKey};

/// Names a space of one open tier; other than the [`SpaceId`](crate::space::SpaceId) of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SsdSpaceId(pub(super) u16);

/// Called once, on a thread of the tier: it must be quick, and may call the tier.
pub type WriteDone = Box<dyn FnOnce(Result<()>) + Send>;

/// Called at most once, on a thread of the tier, with the checksums of the pages that were read and compared.
pub type ReadDone = Box<dyn FnOnce(Result<Vec<u128>>) + Send>;

/// A block that is to be written.
pub struct BlockWrite {
    /// Its space.
    pub space: SsdSpaceId,
    /// Its hash, as long as the space's.
    pub hash: Vec<u8>,
    /// Its pages, in shard order: each begins at a multiple of 4,096, and the bytes behind it up to the next such multiple can be
    /// read too.
    pub pages: Vec<PagePtr>,
    /// The pages' checksums, as slot records have them.
    pub checksums: Vec<u128>,
    /// What keeps the pages as they are; dropped as soon as the disk has them, or will not.
    pub keep: Box<dyn Send>,
    /// Told when the block can be found, or why it cannot.
    pub done: WriteDone,
}

impl fmt::Debug for BlockWrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BlockWrite")
            .field("space", &self.space)
            .field("pages", &self.pages.len())
            .finish_non_exhaustive()
    }
}

/// Why a block is not written; its `done` is not called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refused {
    /// It is in the tier, or on its way there.
    Present,
    /// Too much is on its way already: offer it again after [`Ssd::wait_for_room`](super::Ssd::wait_for_room).
    Busy,
    /// The bytes of this day are used up.
    Budget,
    /// No path can be written to.
    Offline,
    /// It is larger than a segment, or has not the geometry of its space.
    Unfit,
}

impl Refused {
    /// All reasons, in the order in which they are listed to people.
    pub const ALL: [Self; 5] = [
        Self::Present,
        Self::Busy,
        Self::Budget,
        Self::Offline,
        Self::Unfit,
    ];

    /// The word for status and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Busy => "busy",
            Self::Budget => "budget",
            Self::Offline => "offline",
            Self::Unfit => "unfit",
        }
    }
}

/// Which of two waiting reads comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// An engine waits for it.
    Load,
    /// Nobody waits for it; it begins when no load waits.
    Warm,
}

/// The order in which blocks are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum BlockOrder {
    /// Those written last first.
    #[default]
    Recent,
    /// Those read most often first, equally often read ones as in `Recent`. Of reads before a restart those count that were before
    /// the block was last moved to a new segment.
    Frequent,
}

/// A block in the tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SsdBlock {
    /// Its space.
    pub space: SsdSpaceId,
    /// Its hash, as long as the space's.
    pub hash: Vec<u8>,
    /// Bytes of its pages, without what pads them.
    pub bytes: u64,
}

/// A space, with what the tier has of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SsdSpace {
    /// The name that this tier gave it.
    pub id: SsdSpaceId,
    /// Namespace and group.
    pub key: SpaceKey,
    /// What its blocks have in common.
    pub geometry: SpaceGeometry,
    /// Blocks that can be found.
    pub blocks: u64,
    /// Bytes of their pages, without what pads them.
    pub bytes: u64,
}

/// What was taken out of the tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Evicted {
    /// Blocks.
    pub blocks: u64,
    /// Bytes of their pages, without what pads them.
    pub bytes: u64,
}

/// How far a verification is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VerifyProgress {
    /// Blocks to read, as counted at its begin.
    pub blocks: u64,
    /// Blocks read so far, and those that left the tier before their turn.
    pub checked: u64,
    /// Those of them that left the tier before their turn.
    pub gone: u64,
    /// Bytes read so far.
    pub bytes: u64,
    /// Blocks dropped because they were not what was saved, or could not be read.
    pub corrupt: u64,
}

/// What becomes of the files of a path that is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathFiles {
    /// They stay, for the path to be added again.
    Keep,
    /// They are deleted.
    Delete,
}
