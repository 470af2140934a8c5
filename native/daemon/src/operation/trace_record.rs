//! Recording lookups while the daemon serves, and the end of that.

use pegaflow_core::error::Result;
use pegaflow_core::progress::Progress;
use serde::Deserialize;

use super::Operate;
use super::amount::Bytes;
use super::path::AbsolutePath;
use crate::config::check_record_bytes;
use crate::daemon::Daemon;
use crate::recording::RecordingSnapshot;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceRecord {
    directory: AbsolutePath,
    /// Those of the settings, if left out.
    #[serde(default)]
    size_bytes: Option<Bytes>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceStop {}

impl Operate for TraceRecord {
    type Outcome = RecordingSnapshot;

    fn operate(&self, daemon: &Daemon, _progress: &Progress) -> Result<RecordingSnapshot> {
        let size_bytes = self.size_bytes.map_or(daemon.config.record_bytes, Bytes::get);
        check_record_bytes("size_bytes", size_bytes)?;
        daemon.recording.start(self.directory.as_ref(), size_bytes)
    }
}

impl Operate for TraceStop {
    type Outcome = RecordingSnapshot;

    fn operate(&self, daemon: &Daemon, _progress: &Progress) -> Result<RecordingSnapshot> {
        daemon.recording.stop()
    }
}
