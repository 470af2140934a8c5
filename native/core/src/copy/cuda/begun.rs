//! A few copies into an engine that go on by themselves.

use std::sync::Arc;

use super::memory::Opened;
use super::or_end;
use crate::copy::{Copying, Pins};
use crate::cuda::{Begun, CopyWay, Direction, Piece};
use crate::error::Result;
use crate::process::PeerProcess;

/// Copies under way; everything that they need stays until they have ended.
pub(super) struct CudaCopying {
    /// None once the end was waited for.
    begun: Option<Begun>,
    opened: Arc<Opened>,
    process: Arc<PeerProcess>,
    _pins: Pins,
}

impl CudaCopying {
    /// Begins them; also the way that the driver took.
    pub(super) fn begin(
        opened: &Arc<Opened>,
        process: &Arc<PeerProcess>,
        way: CopyWay,
        pieces: &[Piece],
        pins: &Pins,
    ) -> Result<(Self, CopyWay)> {
        let begun = opened.streams(Direction::ToDevice).begin(way, pieces)?;
        let used = begun.way;
        let copying = Self {
            begun: Some(begun),
            opened: Arc::clone(opened),
            process: Arc::clone(process),
            _pins: Arc::clone(pins),
        };
        Ok((copying, used))
    }

    fn end(&mut self) -> Result<()> {
        let Some(begun) = self.begun.take() else {
            return Ok(());
        };
        let streams = self.opened.streams(Direction::ToDevice);
        streams.end(begun).map_err(or_end)
    }
}

impl Copying for CudaCopying {
    fn has_ended(&self) -> bool {
        self.begun.as_ref().is_none_or(Begun::has_ended)
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        self.end()?;
        self.process.check_alive()
    }
}

impl Drop for CudaCopying {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::warn!("{error}");
        }
    }
}
