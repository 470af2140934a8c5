//! Which path a block goes to: all fill in proportion to their capacities, and none lets blocks go while another has room.

use super::{Path, SLOW};
use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering};

/// The level of a path that is full for the first time.
const FULL: u64 = 1 << 32;
/// How far a path may be ahead of another: a part of its capacity, or so many bytes where those are less. Blocks that come one
/// after another are written together within that.
const LEAD: u64 = FULL / 64;
const LEAD_BYTES: u64 = 64 << 20;

/// What the other paths see of one.
#[derive(Debug, Default)]
pub(super) struct Share {
    /// Bytes that it has, however large it was meant to be.
    capacity: AtomicU64,
    /// How full it is; how often it has been filled, once it lets blocks go.
    level: AtomicU64,
    /// Whether it has an empty segment, or makes one, without letting blocks go.
    has_room: AtomicBool,
    /// Whether it takes a block at once.
    is_ready: AtomicBool,
}

/// `bytes` of a capacity as a level.
fn level_of(bytes: u64, capacity: u64) -> u64 {
    let level = u128::from(bytes) * u128::from(FULL) / u128::from(capacity.max(1));
    u64::try_from(level).unwrap_or(u64::MAX)
}

impl Path {
    /// Says how full the path is, and whether it has room for more.
    pub(super) fn tell_room(self: &Arc<Self>, occupied: u64, capacity: u64, has_room: bool) {
        let share = &self.share;
        share.capacity.store(capacity, Ordering::Relaxed);
        let had_room = share.has_room.swap(has_room, Ordering::Relaxed);
        if has_room {
            let level = level_of(occupied, capacity);
            share.level.store(level, Ordering::Relaxed);
        } else if had_room || share.level.load(Ordering::Relaxed) < FULL {
            // From now on it takes as much as the others that are full.
            let rivals = Rivals::of(self);
            let full = rivals.others.iter().filter(|rival| !rival.has_room);
            let level = full.map(|rival| rival.level).max().unwrap_or(FULL);
            share.level.store(level.max(FULL), Ordering::Relaxed);
        }
        if had_room && !has_room {
            self.wake_ready();
        }
    }

    /// Whether the path takes more without letting blocks go.
    pub(in crate::ssd) fn has_room(&self) -> bool {
        self.share.has_room.load(Ordering::Relaxed)
    }

    /// Counts a block that the path has taken.
    pub(super) fn count_taken(&self, bytes: u64) {
        let level = level_of(bytes, self.share.capacity.load(Ordering::Relaxed));
        self.share.level.fetch_add(level, Ordering::Relaxed);
    }

    /// Says whether the path takes a block at once; what was left to it is the others' when it no longer does.
    pub(super) fn tell_ready(self: &Arc<Self>, is_ready: bool) {
        let was_ready = self.share.is_ready.swap(is_ready, Ordering::AcqRel);
        if was_ready && !is_ready {
            self.wake_ready();
        }
    }

    fn wake_ready(self: &Arc<Self>) {
        for rival in Rivals::of(self).others.iter().filter(|rival| rival.is_ready) {
            rival.path.inbox.wake();
        }
    }
}

/// The other paths that can be written to, as they are now.
#[derive(Debug)]
pub(super) struct Rivals {
    has_room: bool,
    level: u64,
    lead: u64,
    others: Vec<Rival>,
}

#[derive(Debug)]
struct Rival {
    path: Arc<Path>,
    largest_block: u64,
    has_room: bool,
    is_ready: bool,
    level: u64,
}

impl Rivals {
    pub(super) fn of(path: &Arc<Path>) -> Self {
        let paths = path.tier.paths.read();
        let others = paths
            .iter()
            .filter(|other| !Arc::ptr_eq(other, path) && other.is_usable());
        let others = others.map(|other| Rival {
            path: Arc::clone(other),
            largest_block: other.largest_block(),
            // Nobody waits for the room of a disk that does not answer.
            has_room: other.share.has_room.load(Ordering::Relaxed) && !other.answers.are_overdue(SLOW),
            is_ready: other.share.is_ready.load(Ordering::Acquire),
            level: other.share.level.load(Ordering::Relaxed),
        });
        Self {
            has_room: path.share.has_room.load(Ordering::Relaxed),
            level: path.share.level.load(Ordering::Relaxed),
            lead: LEAD.min(level_of(LEAD_BYTES, path.share.capacity.load(Ordering::Relaxed))),
            others: others.collect(),
        }
    }

    /// Whether one of them has room.
    pub(super) fn have_room(&self) -> bool {
        self.others.iter().any(|rival| rival.has_room)
    }

    /// Whether a block of so many bytes is left to one of them, which hears of it.
    pub(super) fn are_left(&self, bytes: u64) -> bool {
        let is_left = |rival: &&Rival| {
            bytes <= rival.largest_block
                && match (self.has_room, rival.has_room) {
                    (false, true) => true,
                    (true, false) => false,
                    // As fast as the disks are, whoever is free takes more than its share.
                    _ => rival.is_ready && rival.level.saturating_add(self.lead) < self.level,
                }
        };
        let mut left = self.others.iter().filter(is_left).peekable();
        let is_any = left.peek().is_some();
        left.filter(|rival| rival.is_ready)
            .for_each(|rival| rival.path.inbox.wake());
        is_any
    }
}
