//! Threads that compare what was read with its checksum, so that the disks go on meanwhile.

use std::collections::VecDeque;
use std::io;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use super::index::check_of;
use super::read::Read;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Arc, Condvar, Mutex};

/// One thread checks faster than two disks read.
const THREADS: usize = 2;

/// The threads; they end when this is dropped, after what they were given.
#[derive(Debug)]
pub(super) struct Checkers {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    more: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    reads: VecDeque<(Read, io::Result<()>)>,
    is_closed: bool,
}

impl Checkers {
    pub(super) fn start() -> Result<Self> {
        let queue = Arc::<Queue>::default();
        let mut threads = Vec::new();
        for index in 0..THREADS {
            let queue = Arc::clone(&queue);
            let thread = thread::Builder::new()
                .name(format!("ssd-check-{index}"))
                .spawn(move || queue.serve())
                .map_err(|error| Error::io("start a thread of the ssd tier", error))?;
            threads.push(thread);
        }
        Ok(Self { queue, threads })
    }

    /// A read has ended at the disk: checks it and calls its `done`.
    pub(super) fn add(&self, read: Read, result: io::Result<()>) {
        self.queue.waiting.lock().reads.push_back((read, result));
        self.queue.more.notify_one();
    }
}

impl Drop for Checkers {
    fn drop(&mut self) {
        self.queue.waiting.lock().is_closed = true;
        self.queue.more.notify_all();
        let this = thread::current().id();
        for thread in self.threads.drain(..) {
            // The last read may have kept the tier alive, which then ends on one of these threads.
            if thread.thread().id() != this {
                drop(thread.join());
            }
        }
    }
}

impl Queue {
    fn serve(&self) {
        while let Some((read, result)) = self.next() {
            let checked = check(&read, result);
            let Read { extent, done, .. } = read;
            drop(extent);
            done(checked);
        }
    }

    fn next(&self) -> Option<(Read, io::Result<()>)> {
        let mut waiting = self.waiting.lock();
        loop {
            if let Some(next) = waiting.reads.pop_front() {
                return Some(next);
            }
            if waiting.is_closed {
                return None;
            }
            self.more.wait(&mut waiting);
        }
    }
}

/// The checksums of the pages if they are those of the block, which leaves the tier otherwise.
fn check(read: &Read, result: io::Result<()>) -> Result<Vec<u128>> {
    let extent = &read.extent;
    let path = extent.pin.path();
    if let Err(error) = result {
        path.tier.remove(extent.handle);
        let message = format!("read a block from {}", path.dir.display());
        path.count_read_error(&error);
        return Err(Error::io(message, error));
    }
    path.count_read();
    let start = Instant::now();
    let checksums = extent.space.checksums(&extent.entry.hash, &read.pages);
    let counts = &path.counts;
    counts.verify_ns.add(start.elapsed().as_nanos() as u64);
    counts.read_bytes.add(extent.space.padded_bytes);
    counts.read_blocks.add(1);
    if check_of(&checksums) == extent.entry.check {
        return Ok(checksums);
    }
    if path.tier.remove(extent.handle) {
        counts.corrupt_blocks.add(1);
        tracing::error!(
            dir = %path.dir.display(),
            space = %extent.space.key,
            "a block on ssd is not what was saved, so it is dropped: check that disk"
        );
    }
    Err(Error::new(
        ErrorKind::Corrupt,
        "a block on ssd is not what was saved, so it was dropped: compute it anew",
    ))
}
