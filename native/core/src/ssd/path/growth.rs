//! What room a path has: when it makes segments, when it lets the oldest go, and what it says of both.

use super::super::block::Evicted;
use super::super::index::SegmentId;
use super::super::snapshot::PathState;
use super::open_segment::OpenSegment;
use super::ring::Next;
use super::writer::Writer;
use super::{FILE_OVERHEAD, Segment};
use crate::error::{ErrorKind, Result};
use crate::sync::Arc;

impl Writer {
    /// Makes an empty segment the head; false when one has to be emptied first, which has begun.
    pub(super) fn advance(&mut self) -> Result<bool> {
        // Others take what was left to this path while the disk is waited for.
        self.path.tell_ready(false);
        self.ring.close_head();
        self.ring.settle(&self.path);
        let Next { is_open, full } = self.ring.advance(&self.path)?;
        match &full {
            Some(error) => self.no_room = Some(error.to_string()),
            None if is_open => self.grow_ahead()?,
            None => {}
        }
        self.is_last_head = is_open;
        if !is_open {
            self.reclaim()?;
        }
        self.tell_room();
        Ok(is_open)
    }

    /// Lets go of the oldest segment without keeping more of it.
    fn reclaim(&mut self) -> Result<()> {
        if self.ring.draining.is_empty() {
            self.is_recycling = true;
            self.retire_oldest();
            self.ring.collect_drained(&mut self.safety)?;
            if !self.ring.free.is_empty() {
                self.path.inbox.wake();
            }
        }
        Ok(())
    }

    /// Lets go of the oldest full segment; what was in it. None when there is none.
    pub(super) fn retire_oldest(&mut self) -> Option<Evicted> {
        self.keeping = None;
        let (id, segment) = self.ring.full.pop_front()?;
        Some(self.retire(id, segment))
    }

    pub(super) fn retire(&mut self, id: SegmentId, segment: Arc<Segment>) -> Evicted {
        self.ring.retire(&self.path, id, segment, self.safety.mark())
    }

    /// Makes the segment after the head as far as the capacity allows one, so that it is known in time whether there is room for it.
    pub(super) fn grow_ahead(&mut self) -> Result<()> {
        if self.no_room.is_none() && !self.ring.free.is_empty() {
            return Ok(());
        }
        match self.ring.grow(self.path.capacity()) {
            Ok(_) => self.no_room = None,
            Err(error) if error.kind() == ErrorKind::NoSpace => self.no_room = Some(error.to_string()),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Why the path goes on with the files that it has.
    fn degradation(&mut self) -> Option<String> {
        let (used, capacity) = (self.ring.used(), self.path.capacity());
        if let Some(reason) = self.ring.denied(capacity) {
            return Some(format!(
                "files cannot be deleted, of which there are {used} bytes for a capacity of {capacity} ({reason}): let the daemon write to the directory"
            ));
        }
        let reason = self.no_room.as_ref()?;
        Some(format!(
            "there is no room for another segment at {used} of {capacity} bytes ({reason}): give the file system room, or the path a smaller capacity"
        ))
    }

    /// Whether the next head will come from the oldest segment.
    pub(super) fn is_at_capacity(&self) -> bool {
        let capacity = self.path.capacity();
        self.no_room.is_some()
            || self.ring.used() + self.ring.segment_bytes(capacity) + FILE_OVERHEAD > capacity
    }

    /// Says to the other paths what room there is, which is theirs once this one has none.
    fn tell_room(&mut self) {
        let can_grow = !self.is_at_capacity();
        let free = self.ring.free.len();
        self.is_recycling &= !can_grow && free < 2;
        let has_room = can_grow || free > usize::from(self.is_recycling);
        let capacity = match self.no_room {
            Some(_) => self.ring.used(),
            None => self.ring.real_capacity(self.path.capacity()),
        };
        let is_ending = self.wishes.end.is_some();
        self.path
            .tell_room(self.ring.occupied(), capacity, has_room && !is_ending);
    }

    /// Says what the files are like now.
    pub(super) fn report(&mut self) {
        self.tell_room();
        let mut bytes = self.ring.segment_bytes(self.path.capacity());
        let state = match self.degradation() {
            None => PathState::Online,
            Some(reason) => {
                // The next may be any of those that there are.
                bytes = self.ring.sizes().fold(bytes, u64::min);
                PathState::Degraded { reason }
            }
        };
        let mut status = self.path.status.lock();
        let dir = self.path.dir.display();
        if let PathState::Offline { reason } = &status.state {
            tracing::info!(%dir, reason, "an ssd path is back");
        }
        if let Some(reason) = state.reason().filter(|_| status.state.name() != state.name()) {
            tracing::warn!(%dir, reason, "an ssd path is degraded");
        }
        status.state = state;
        status.used = self.ring.used();
        status.segments = self.ring.segments() as u64;
        status.free_segments = self.ring.free.len() as u64;
        status.largest_block = OpenSegment::largest_block(bytes);
    }
}
