//! What operators may set of the copies on GPUs.

/// How copies are handed to the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyWay {
    /// Many runs in one call (CUDA 12.8 and later).
    Batch,
    /// A call for each run.
    Plain,
}

impl CopyWay {
    /// The word for settings, logs and the status.
    pub fn name(self) -> &'static str {
        match self {
            Self::Batch => "batch",
            Self::Plain => "plain",
        }
    }
}

/// How blocks of an engine come to their pages, and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CopyStrategy {
    /// What is fastest for each layout, measured when an engine registers.
    #[default]
    Auto,
    /// As the blocks are, in batches.
    Batch,
    /// As the blocks are, run by run.
    Plain,
    /// By a ring in which the engine collects them, where it can.
    Gather,
}

/// Runs of a layout that are shorter than this on average are worth a try with a ring: longer ones keep the link at least half
/// busy.
const RUN_WORTH_A_RING: u64 = 32 << 10;

impl CopyStrategy {
    /// A layout whose runs have fewer bytes on average is offered a ring.
    pub fn ring_below(self) -> u64 {
        match self {
            Self::Auto => RUN_WORTH_A_RING,
            Self::Batch | Self::Plain => 0,
            Self::Gather => u64::MAX,
        }
    }
}

/// Settings of the copies on all GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GpuSettings {
    /// How blocks are copied.
    pub strategy: CopyStrategy,
    /// The most bytes per second on one GPU, both directions together.
    pub max_rate: Option<u64>,
}
