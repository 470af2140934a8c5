//! One directory of the tier: its state, and the thread that writes to it and keeps its files in order.

mod batch;
mod commit;
mod directory;
mod failure;
mod growth;
mod journal;
mod keeping;
mod life;
mod open_segment;
mod recovery;
mod ring;
mod segment;
mod segment_files;
mod share;
mod sync;
mod wishes;
mod writer;

pub(super) use batch::Kept;
pub(super) use directory::IDENTITY;
pub(super) use segment::{Segment, SegmentPin};
pub(super) use segment_files::segment_number;

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use super::config::IoEngineKind;
use super::counts::{Answers, Counts};
use super::format::UNIT;
use super::inbox::Inbox;
use super::read::Reads;
use super::snapshot::{PathState, Recovery, SsdPathSnapshot};
use super::tier::Tier;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering};
use share::Share;

/// How long a disk may answer nothing before its path is not used: one that is slow answers something.
const STALL: Duration = Duration::from_secs(if cfg!(test) { 10 } else { 30 });
/// How long the disk of a path that is not online may answer nothing before nobody waits for it: the tier opens, and closes, without.
const OPEN_STALL: Duration = Duration::from_secs(if cfg!(test) { 5 } else { 2 });
/// How long a path that is full waits for the disk of one that has room, before it lets blocks go.
const SLOW: Duration = Duration::from_secs(STALL.as_secs() / 3);
/// Reads that fail one after another before the path is looked at anew.
const MOST_READ_ERRORS: u64 = 3;

/// One directory, while the tier has it.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) dir: PathBuf,
    pub(super) tier: Arc<Tier>,
    pub(super) inbox: Inbox,
    pub(super) reads: Reads,
    pub(super) counts: Counts,
    answers: Arc<Answers>,
    share: Share,
    capacity: AtomicU64,
    is_online: AtomicBool,
    read_errors_in_a_row: AtomicU64,
    /// Bytes of the largest block that no path had room for.
    refused_bytes: AtomicU64,
    status: Mutex<Status>,
    /// The device and number of the directory, whatever name it was given by.
    place: Mutex<Option<(u64, u64)>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// What the writer says about the path.
#[derive(Debug, Clone, Default)]
struct Status {
    state: PathState,
    /// `Auto` until the path was online.
    engine: IoEngineKind,
    is_direct: bool,
    used: u64,
    segments: u64,
    free_segments: u64,
    /// Bytes of the largest block that can be written.
    largest_block: u64,
    recovery: Recovery,
    /// Files that are named like segments and are none of this path.
    others: Vec<PathBuf>,
}

impl Path {
    pub(super) fn new(dir: PathBuf, capacity: u64, tier: Arc<Tier>) -> Arc<Self> {
        Arc::new(Self {
            dir,
            tier,
            inbox: Inbox::default(),
            reads: Reads::default(),
            counts: Counts::default(),
            answers: Arc::default(),
            share: Share::default(),
            capacity: AtomicU64::new(capacity),
            is_online: AtomicBool::new(false),
            read_errors_in_a_row: AtomicU64::new(0),
            refused_bytes: AtomicU64::new(0),
            status: Mutex::default(),
            place: Mutex::default(),
            thread: Mutex::default(),
        })
    }

    /// Whether its blocks can be read, and others written.
    pub(super) fn is_usable(&self) -> bool {
        self.is_online.load(Ordering::Acquire) && !self.is_stalled()
    }

    /// Whether its disk has answered nothing for long.
    pub(super) fn is_stalled(&self) -> bool {
        self.answers.are_overdue(self.most_quiet())
    }

    /// How long its disk may answer nothing.
    fn most_quiet(&self) -> Duration {
        if self.is_online.load(Ordering::Acquire) {
            STALL
        } else {
            OPEN_STALL
        }
    }

    /// Whether it has been online: one that has not has taken nothing.
    pub(super) fn was_online(&self) -> bool {
        self.status.lock().engine != IoEngineKind::Auto
    }

    /// Takes the directory, which no other path of the tier may be by another name.
    fn claim_place(self: &Arc<Self>) -> Result<()> {
        let found = std::fs::metadata(&self.dir)
            .map_err(|error| Error::io(format_args!("open {}", self.dir.display()), error))?;
        let place = Some((found.dev(), found.ino()));
        // One path after another: of two that are the same the second is refused.
        let paths = self.tier.paths.write();
        let mut others = paths.iter().filter(|path| !Arc::ptr_eq(path, self));
        if let Some(other) = others.find(|path| *path.place.lock() == place) {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "{} and {} are the same directory: give the ssd tier each directory once",
                    self.dir.display(),
                    other.dir.display()
                ),
            ));
        }
        *self.place.lock() = place;
        Ok(())
    }

    pub(super) fn capacity(&self) -> u64 {
        self.capacity.load(Ordering::Relaxed)
    }

    pub(super) fn set_capacity(&self, capacity: u64) {
        self.capacity.store(capacity, Ordering::Relaxed);
    }

    /// Bytes of the largest block that can be written.
    pub(super) fn largest_block(&self) -> u64 {
        self.status.lock().largest_block
    }

    /// A block of so many bytes has no room in any path, which is said until this one has.
    pub(super) fn refuse(&self, bytes: u64) {
        self.refused_bytes.fetch_max(bytes, Ordering::Relaxed);
    }

    pub(super) fn count_read(&self) {
        self.read_errors_in_a_row.store(0, Ordering::Relaxed);
    }

    /// Counts a read that the system failed; the path goes offline when that is all it does.
    pub(super) fn count_read_error(&self, error: &io::Error) {
        self.counts.read_errors.add(1);
        let in_a_row = self.read_errors_in_a_row.fetch_add(1, Ordering::Relaxed) + 1;
        if in_a_row == MOST_READ_ERRORS {
            let reason = format!("{in_a_row} reads in a row failed, the last with: {error}");
            self.inbox.tell(super::inbox::Event::Failed(reason));
        }
    }

    /// Why nothing can be done with the path.
    pub(super) fn offline_error(&self) -> Error {
        let state = self.state();
        let reason = state.reason().unwrap_or("it was removed");
        Error::new(
            ErrorKind::Io,
            format!("{} is offline: {reason}", self.dir.display()),
        )
    }

    fn state(&self) -> PathState {
        let most_quiet = self.most_quiet();
        if self.answers.are_overdue(most_quiet) {
            return PathState::Offline {
                reason: format!("the disk has answered nothing for {} s", most_quiet.as_secs()),
            };
        }
        let (status, refused) = (self.status.lock(), self.refused_bytes.load(Ordering::Relaxed));
        // The writer says that the path is online before others may use it.
        if status.state == PathState::Online && !self.is_online.load(Ordering::Acquire) {
            let reason = "it is being opened".to_owned();
            return PathState::Offline { reason };
        }
        if status.state == PathState::Online && refused > status.largest_block {
            return PathState::Degraded {
                reason: format!(
                    "blocks of {refused} bytes are larger than its segments, which take {}: give the path a larger capacity",
                    status.largest_block
                ),
            };
        }
        status.state.clone()
    }

    /// The path's part of a snapshot; blocks and bytes are for the index to say.
    pub(super) fn snapshot(&self) -> SsdPathSnapshot {
        let (status, counts) = (self.status.lock().clone(), &self.counts);
        SsdPathSnapshot {
            dir: self.dir.clone(),
            state: self.state(),
            engine: status.engine,
            is_direct: status.is_direct,
            capacity: self.capacity(),
            used: status.used,
            blocks: 0,
            bytes: 0,
            segments: status.segments,
            free_segments: status.free_segments,
            written_blocks: counts.written_blocks.get(),
            written_bytes: counts.written_bytes.get(),
            kept_blocks: counts.kept_blocks.get(),
            evicted_blocks: counts.evicted_blocks.get(),
            read_blocks: counts.read_blocks.get(),
            read_bytes: counts.read_bytes.get(),
            corrupt_blocks: counts.corrupt_blocks.get(),
            read_errors: counts.read_errors.get(),
            write_errors: counts.write_errors.get(),
            verify_time: Duration::from_nanos(counts.verify_ns.get()),
            read_latency: counts.reads.snapshot(),
            write_latency: counts.writes.snapshot(),
            recovery: status.recovery,
        }
    }

    /// Waits until the thread has ended, which it was told to.
    pub(super) fn join(&self) {
        if let Some(thread) = self.thread.lock().take() {
            drop(thread.join());
        }
    }
}

/// Smallest and largest segment: the largest lets a block of any model in, and a thousand of them are a terabyte.
const SEGMENT_BYTES: std::ops::RangeInclusive<u64> = 4 << 20..=1 << 30;
/// Segments of a path of middle size: one of them is empty at most times, and that much of the capacity unused.
const SEGMENTS: u64 = 64;
/// What a file may take beside its contents: the file system's map of it.
pub(super) const FILE_OVERHEAD: u64 = 4 * UNIT;
/// What the file that names the path takes at most.
const IDENTITY_BYTES: u64 = UNIT;

/// Bytes of the segments that a path of this capacity makes.
fn segment_bytes(capacity: u64) -> u64 {
    let share = (capacity / SEGMENTS).max(1);
    (1 << share.ilog2()).clamp(*SEGMENT_BYTES.start(), *SEGMENT_BYTES.end())
}
