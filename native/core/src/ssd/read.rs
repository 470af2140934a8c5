//! Reads of one path: loads first, so many at a time as make the disk fast.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use super::block::{Priority, ReadDone};
use super::extent::Extent;
use super::format::{UNIT, padded};
use super::io::{Action, IoEngine, Op, QUEUE_DEPTH};
use super::path::Path;
use crate::pool::PagePtr;
use crate::sync::{Arc, Mutex};

/// Reads that nobody waits for, at the disk at one time, while loads are.
const WARM_BESIDE_LOADS: usize = 2;

/// A block that is to be read.
pub(super) struct Read {
    pub(super) extent: Extent,
    pub(super) pages: Vec<PagePtr>,
    pub(super) done: ReadDone,
}

impl std::fmt::Debug for Read {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Read")
            .field("extent", &self.extent)
            .finish_non_exhaustive()
    }
}

/// A read until it begins or is taken back.
#[derive(Debug)]
struct Ticketed {
    read: Mutex<Option<Read>>,
    bytes: u64,
}

/// A read that may not have begun yet: dropping this takes such a read back, and its `done` is dropped uncalled.
#[derive(Debug)]
#[must_use = "dropping it takes the read back"]
pub struct ReadTicket(Option<Arc<Ticketed>>);

impl ReadTicket {
    /// Of a read that has ended already.
    pub(super) fn ended() -> Self {
        Self(None)
    }

    /// Takes the read back unless it has begun; whether it was, so that `done` will never be called.
    pub fn cancel(mut self) -> bool {
        self.take_back().is_some()
    }

    /// Lets the read go on by itself.
    pub fn detach(mut self) {
        self.0 = None;
    }

    fn take_back(&mut self) -> Option<Read> {
        self.0.take()?.read.lock().take()
    }
}

impl Drop for ReadTicket {
    fn drop(&mut self) {
        drop(self.take_back());
    }
}

/// The reads of a path that wait, and how many are at the disk.
#[derive(Debug, Default)]
pub(super) struct Reads(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    /// None while the path is offline.
    engine: Option<Arc<dyn IoEngine>>,
    loads: VecDeque<Arc<Ticketed>>,
    warms: VecDeque<Arc<Ticketed>>,
    loads_under_way: usize,
    warms_under_way: usize,
}

impl Reads {
    /// Begins to read by this engine, or stops; those that wait are dropped then.
    pub(super) fn set_engine(&self, engine: Option<Arc<dyn IoEngine>>) {
        let mut waiting = self.0.lock();
        waiting.engine = engine;
        let dropped = match waiting.engine {
            Some(_) => Vec::new(),
            None => {
                let loads: Vec<_> = waiting.loads.drain(..).collect();
                loads.into_iter().chain(waiting.warms.drain(..)).collect()
            }
        };
        drop(waiting);
        for read in dropped.iter().filter_map(|ticketed| ticketed.read.lock().take()) {
            (read.done)(Err(read.extent.pin.path().offline_error()));
        }
    }

    /// Adds a read.
    pub(super) fn add(&self, path: &Arc<Path>, read: Read, priority: Priority) -> ReadTicket {
        let ticketed = Arc::new(Ticketed {
            bytes: read.extent.space.padded_bytes,
            read: Mutex::new(Some(read)),
        });
        let mut waiting = self.0.lock();
        if waiting.engine.is_none() {
            drop(waiting);
            if let Some(read) = ticketed.read.lock().take() {
                (read.done)(Err(path.offline_error()));
            }
            return ReadTicket::ended();
        }
        let queue = match priority {
            Priority::Load => &mut waiting.loads,
            Priority::Warm => &mut waiting.warms,
        };
        queue.push_back(Arc::clone(&ticketed));
        drop(waiting);
        self.begin(path);
        ReadTicket(Some(ticketed))
    }

    /// Bytes that wait.
    pub(super) fn bytes(&self) -> u64 {
        let waiting = self.0.lock();
        let both = waiting.loads.iter().chain(&waiting.warms);
        both.filter(|ticketed| ticketed.read.lock().is_some())
            .map(|ticketed| ticketed.bytes)
            .sum()
    }

    /// Gives the disk as much as it takes.
    fn begin(&self, path: &Arc<Path>) {
        while let Some((engine, read, priority)) = self.next() {
            let space = &read.extent.space;
            let memory = read.pages.iter().map(|page| page.padded()).collect();
            let file = Arc::clone(&read.extent.pin.segment().file);
            let offset = u64::from(read.extent.entry.offset) * UNIT;
            let bytes = space.padded_bytes;
            path.counts.read_rate.begin();
            let (start, path) = (Instant::now(), Arc::clone(path));
            engine.submit(Op {
                action: Action::Read,
                file,
                offset,
                memory,
                done: Box::new(move |result| end(&path, read, priority, start.elapsed(), bytes, result)),
            });
        }
    }

    /// The next read that is to begin, which counts as under way from now on.
    fn next(&self) -> Option<(Arc<dyn IoEngine>, Read, Priority)> {
        let mut waiting = self.0.lock();
        let engine = Arc::clone(waiting.engine.as_ref()?);
        while waiting.loads_under_way + waiting.warms_under_way < QUEUE_DEPTH {
            let Some(ticketed) = waiting.loads.pop_front() else {
                break;
            };
            if let Some(read) = ticketed.read.lock().take() {
                waiting.loads_under_way += 1;
                return Some((engine, read, Priority::Load));
            }
        }
        let most = match waiting.loads_under_way {
            0 => QUEUE_DEPTH,
            _ => WARM_BESIDE_LOADS,
        };
        while waiting.warms_under_way < most {
            let Some(ticketed) = waiting.warms.pop_front() else {
                break;
            };
            if let Some(read) = ticketed.read.lock().take() {
                waiting.warms_under_way += 1;
                return Some((engine, read, Priority::Warm));
            }
        }
        None
    }

    fn ended(&self, priority: Priority) {
        let mut waiting = self.0.lock();
        match priority {
            Priority::Load => waiting.loads_under_way -= 1,
            Priority::Warm => waiting.warms_under_way -= 1,
        }
    }
}

/// On a thread of the engine: the next read begins before this one is looked at.
fn end(path: &Arc<Path>, read: Read, priority: Priority, time: Duration, bytes: u64, result: io::Result<()>) {
    path.counts.read_rate.end(if result.is_ok() { bytes } else { 0 });
    path.counts.reads.add(time);
    path.reads.ended(priority);
    path.reads.begin(path);
    path.tier.checkers.give((read, result));
}

impl PagePtr {
    /// The page with what pads it.
    pub(super) fn padded(self) -> Self {
        let start = std::ptr::NonNull::new(self.as_ptr());
        start.map_or(self, |start| Self::new(start, padded(self.len() as u64) as usize))
    }
}
