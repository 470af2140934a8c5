//! What tells this run of the daemon from every other one.

use std::process;
use std::time::{Instant, SystemTime};

use pegaflow_core::error::Result;
use pegaflow_core::process::ProcessIdentity;
use pegaflow_proto::v1;

/// The software's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// One run of the daemon.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Boot {
    /// Random, never 0.
    pub(crate) id: u64,
    pub(crate) process: ProcessIdentity,
    pub(crate) started_at: SystemTime,
    pub(crate) started: Instant,
}

impl Boot {
    /// The run that begins now, in this process.
    pub(crate) fn new() -> Result<Self> {
        Ok(Self {
            id: rand::random_range(1..=u64::MAX),
            process: ProcessIdentity::of(process::id())?,
            started_at: SystemTime::now(),
            started: Instant::now(),
        })
    }

    /// The boot id as documents and metrics have it: JSON readers lose digits of large numbers.
    pub(crate) fn id_text(&self) -> String {
        format!("{:016x}", self.id)
    }

    /// The daemon's process as messages name it.
    pub(crate) fn process_message(&self) -> v1::ProcessIdentity {
        v1::ProcessIdentity {
            pid: self.process.pid,
            start_time_ticks: self.process.start_time_ticks,
        }
    }
}
