//! A segment that has blocks, and the right to read it.

use std::fs::File;

use super::Path;
use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering};

/// One filling of a segment file.
#[derive(Debug)]
pub(in crate::ssd) struct Segment {
    pub(in crate::ssd) path: Arc<Path>,
    pub(in crate::ssd) file: Arc<File>,
    pub(super) number: u32,
    pub(super) bytes: u64,
    generation: u64,
    pins: AtomicU64,
    is_draining: AtomicBool,
}

impl Segment {
    pub(in crate::ssd) fn new(
        path: Arc<Path>,
        file: Arc<File>,
        number: u32,
        bytes: u64,
        generation: u64,
    ) -> Arc<Self> {
        Arc::new(Self {
            path,
            file,
            number,
            bytes,
            generation,
            pins: AtomicU64::new(0),
            is_draining: AtomicBool::new(false),
        })
    }

    pub(in crate::ssd) fn generation(&self) -> u64 {
        self.generation
    }

    /// From now on the writer is woken by the last pin: the segment has left the index, so no pins come.
    pub(super) fn drain(&self) {
        self.is_draining.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_pinned(&self) -> bool {
        self.pins.load(Ordering::SeqCst) > 0
    }
}

/// Keeps the bytes of a segment where they are.
#[derive(Debug)]
pub(in crate::ssd) struct SegmentPin(Arc<Segment>);

impl SegmentPin {
    /// Pins a segment that is in the index, under its lock.
    pub(in crate::ssd) fn new(segment: &Arc<Segment>) -> Self {
        segment.pins.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(segment))
    }

    pub(in crate::ssd) fn segment(&self) -> &Arc<Segment> {
        &self.0
    }

    pub(in crate::ssd) fn path(&self) -> &Arc<Path> {
        &self.0.path
    }
}

impl Drop for SegmentPin {
    fn drop(&mut self) {
        let is_last = self.0.pins.fetch_sub(1, Ordering::SeqCst) == 1;
        if is_last && self.0.is_draining.load(Ordering::SeqCst) {
            self.0.path.inbox.wake();
        }
    }
}
