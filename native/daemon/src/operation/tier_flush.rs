//! Waiting until what is in memory is on ssd, or what is on its way to the disks outlives a loss of power.

use std::ops::ControlFlow;
use std::time::Instant;

use pegaflow_core::count::counted;
use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::progress::Progress;
use pegaflow_core::store::{Flush, FlushProgress};
use serde::{Deserialize, Serialize};

use super::Operate;
use super::tier::{PATIENCE, Tier, patiently, ssd_with_paths};
use crate::daemon::Daemon;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TierFlush {
    tier: Tier,
}

#[derive(Debug, Serialize)]
pub(super) struct Flushed {
    tier: Tier,
    blocks: u64,
    bytes: u64,
}

impl Operate for TierFlush {
    type Outcome = Flushed;

    fn operate(&self, daemon: &Daemon, progress: &Progress) -> Result<Flushed> {
        let end = match self.tier {
            Tier::Memory => refuse_rest(write_memory(daemon, progress)?)?,
            Tier::Ssd => {
                let ssd = ssd_with_paths(daemon)?;
                patiently(progress, |patience| ssd.flush(patience))?;
                FlushProgress::default()
            }
        };
        Ok(Flushed {
            tier: self.tier,
            blocks: end.written_blocks,
            bytes: end.written_bytes,
        })
    }
}

/// Says what found no room.
fn refuse_rest(end: FlushProgress) -> Result<FlushProgress> {
    if end.no_room_blocks == 0 {
        return Ok(end);
    }
    Err(Error::new(
        ErrorKind::Io,
        format!(
            "memory has {} ({} bytes) on ssd, and {} found no room there: give the ssd tier more with `pegaflow tier resize` or `pegaflow tier add-path`",
            counted(end.copied_blocks, "block"),
            end.copied_bytes,
            counted(end.no_room_blocks, "block")
        ),
    ))
}

/// Writes what is in memory, and not on ssd yet, to it.
pub(super) fn write_memory(daemon: &Daemon, progress: &Progress) -> Result<FlushProgress> {
    ssd_with_paths(daemon)?;
    let mut told = FlushProgress::default();
    daemon
        .store
        .flush(Flush::All, Instant::now() + PATIENCE, &mut |now| {
            let blocks = now.written_blocks + now.queued_blocks;
            progress.expect(blocks, expected_bytes(&now));
            progress.advance(
                now.written_blocks - told.written_blocks,
                now.written_bytes - told.written_bytes,
            );
            told = now;
            if progress.is_cancelled() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
}

/// As many bytes for each block that waits as the others had; 0 while none is written.
fn expected_bytes(now: &FlushProgress) -> u64 {
    let block_bytes = now.written_bytes.checked_div(now.written_blocks).unwrap_or(0);
    match block_bytes {
        0 => 0,
        bytes => now.written_bytes + now.in_flight_bytes + now.queued_blocks * bytes,
    }
}
