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

/// Settings of the copies on all GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GpuSettings {
    /// None: the faster one for each layout, measured when an engine registers.
    pub copy_way: Option<CopyWay>,
    /// The most bytes per second on one GPU, both directions together.
    pub max_rate: Option<u64>,
}
