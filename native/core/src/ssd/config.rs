//! Where the tier's files are, and how they are read and written.

use std::path::PathBuf;

/// What an [`Ssd`](super::Ssd) is opened with.
#[derive(Debug, Clone, Default)]
pub struct SsdConfig {
    /// The directories, one a disk.
    pub paths: Vec<SsdPathConfig>,
    /// How bytes get to the disks and back.
    pub engine: IoEngineKind,
    /// The most bytes that are written in a day (UTC) over all paths; None for no limit.
    pub write_budget: Option<u64>,
}

/// One directory of the tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SsdPathConfig {
    /// The directory: made, with mode 0700, if it does not exist.
    pub dir: PathBuf,
    /// The most bytes that all files in it may take, at least [`MIN_CAPACITY`].
    pub capacity: u64,
}

/// The smallest capacity of a path: some of the smallest segments.
pub const MIN_CAPACITY: u64 = 32 << 20;

/// How bytes get to the disks and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum IoEngineKind {
    /// io_uring where the kernel allows it, else psync.
    #[default]
    Auto,
    /// One ring a path, owned by a thread.
    Uring,
    /// Some threads a path, each with one blocking call at a time.
    Psync,
}

impl IoEngineKind {
    /// All settings, in the order in which they are listed to people.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Uring, Self::Psync];

    /// The word for settings, status and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Uring => "io_uring",
            Self::Psync => "psync",
        }
    }
}
