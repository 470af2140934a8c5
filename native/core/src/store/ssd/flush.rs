//! Waiting until all that is to be on ssd is there.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::Admission;
use crate::count::counted;
use crate::error::{Error, ErrorKind, Result};
use crate::ssd::Patience;
use crate::store::Store;
use crate::sync::Ordering;

/// How often a flush looks how far it is.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(20);

/// What a flush brings to ssd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    /// Blocks that the tier's admission takes.
    Admitted,
    /// Each block, for somebody asks for it.
    All,
}

/// How far a flush is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlushProgress {
    /// Blocks that wait for their turn.
    pub queued_blocks: u64,
    /// Bytes on their way to the disks.
    pub in_flight_bytes: u64,
    /// Blocks written since the flush began.
    pub written_blocks: u64,
    /// Their bytes.
    pub written_bytes: u64,
    /// Blocks of the pool that are on ssd; 0 until [`Flush::All`] has ended.
    pub copied_blocks: u64,
    /// Their bytes.
    pub copied_bytes: u64,
    /// Blocks of the pool that are not, since no path has room without letting others of the pool go; 0 until [`Flush::All`] has ended.
    pub no_room_blocks: u64,
}

impl Store {
    /// Waits until what is in the pool and meant by `which` is on ssd as far as that has room, safe from a loss of power.
    ///
    /// `progress` is called now and then, and ends the wait by `Break`; the last progress is returned.
    ///
    /// # Errors
    /// `NotFound` without an ssd tier, `Io` when some of it cannot be written, a disk answers nothing, or `deadline` passes before.
    pub fn flush(
        &self,
        which: Flush,
        deadline: Instant,
        progress: &mut dyn FnMut(FlushProgress) -> ControlFlow<()>,
    ) -> Result<FlushProgress> {
        let tier = self.tier()?;
        let written = || {
            let counts = &tier.writer.counts;
            (
                counts.written.load(Ordering::Relaxed),
                counts.written_bytes.load(Ordering::Relaxed),
            )
        };
        let (before, missed_before) = (written(), tier.writer.counts.missed());
        if which == Flush::All || tier.admission == Admission::All {
            tier.writer.sweep();
        }
        let now = || {
            let (queued_blocks, in_flight_bytes) = tier.writer.load();
            let (blocks, bytes) = written();
            FlushProgress {
                queued_blocks,
                in_flight_bytes,
                written_blocks: blocks - before.0,
                written_bytes: bytes - before.1,
                ..FlushProgress::default()
            }
        };
        loop {
            let step = deadline.min(Instant::now() + PROGRESS_INTERVAL);
            if self.inspector.pending() == 0 && tier.writer.wait_until_idle(step) {
                break;
            }
            if progress(now()).is_break() {
                return Ok(now());
            }
            tier.ssd.check_answers()?;
            if Instant::now() >= deadline {
                let left = now().queued_blocks;
                return Err(Error::new(
                    ErrorKind::Io,
                    format!(
                        "{} or more not on ssd yet, and the time for it is over: give more",
                        counted(left, "block")
                    ),
                ));
            }
        }
        tier.ssd
            .flush(Patience::new(deadline, &mut || progress(now()).is_break()))?;
        match tier.writer.counts.missed() - missed_before {
            0 if which == Flush::All => {
                let copied = self.copied();
                // Where there is room, what is missing was saved meanwhile.
                let is_full = !tier.ssd.has_room();
                Ok(FlushProgress {
                    copied_blocks: copied.blocks,
                    copied_bytes: copied.bytes,
                    no_room_blocks: if is_full { copied.missing_blocks } else { 0 },
                    ..now()
                })
            }
            0 => Ok(now()),
            missed => Err(Error::new(
                ErrorKind::Io,
                format!(
                    "{} could not be written to ssd: look at the state of its paths, whether blocks fit their segments, and at its write budget",
                    counted(missed, "block")
                ),
            )),
        }
    }
}
