//! The engine of threads: each has one blocking call at a time.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use parking_lot::{Condvar, Mutex};

use super::vector::Transfer;
use super::{Action, IoEngine, Op};
use crate::error::{Error, Result};
use crate::ssd::config::IoEngineKind;

/// Threads of an engine: enough to keep a disk busy with large transfers.
const THREADS: usize = 8;

/// Threads that read and write.
#[derive(Debug)]
pub(super) struct PsyncEngine {
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
    ops: VecDeque<Op>,
    is_closed: bool,
}

impl PsyncEngine {
    pub(super) fn start() -> Result<Arc<Self>> {
        let mut engine = Self {
            queue: Arc::default(),
            threads: Vec::new(),
        };
        for index in 0..THREADS {
            let queue = Arc::clone(&engine.queue);
            let thread = thread::Builder::new()
                .name(format!("ssd-psync-{index}"))
                .spawn(move || queue.serve())
                .map_err(|error| Error::io("start a thread of the ssd tier", error))?;
            engine.threads.push(thread);
        }
        Ok(Arc::new(engine))
    }
}

impl IoEngine for PsyncEngine {
    fn kind(&self) -> IoEngineKind {
        IoEngineKind::Psync
    }

    fn submit(&self, op: Op) {
        self.queue.waiting.lock().ops.push_back(op);
        self.queue.more.notify_one();
    }
}

impl Queue {
    /// Does what is asked for until the engine is closed and nothing is left.
    fn serve(&self) {
        while let Some(op) = self.next() {
            let mut transfer = Transfer::new(op);
            let result = loop {
                if let Some(result) = transfer.advance(call(&transfer)) {
                    break result;
                }
            };
            transfer.end(result);
        }
    }

    fn next(&self) -> Option<Op> {
        let mut waiting = self.waiting.lock();
        loop {
            if let Some(op) = waiting.ops.pop_front() {
                return Some(op);
            }
            if waiting.is_closed {
                return None;
            }
            self.more.wait(&mut waiting);
        }
    }
}

/// One system call of a transfer.
fn call(transfer: &Transfer) -> io::Result<usize> {
    let (pieces, offset) = (transfer.pieces(), transfer.offset());
    let file = transfer.op.file.as_raw_fd();
    let (first, count) = (pieces.as_ptr(), pieces.len() as i32);
    let moved = match transfer.op.action {
        Action::Sync => {
            return rustix::fs::fdatasync(&transfer.op.file)
                .map(|()| 0)
                .map_err(Into::into);
        }
        #[expect(unsafe_code, reason = "reading into pages")]
        // SAFETY: the pieces lie in memory that whoever submitted the read lets nobody else touch until its end.
        Action::Read => unsafe { libc::preadv(file, first, count, offset as i64) },
        #[expect(unsafe_code, reason = "writing pages")]
        // SAFETY: the pieces lie in memory that whoever submitted the write keeps as it is until its end.
        Action::Write => unsafe { libc::pwritev(file, first, count, offset as i64) },
    };
    usize::try_from(moved).map_err(|_| io::Error::last_os_error())
}

impl Drop for PsyncEngine {
    fn drop(&mut self) {
        self.queue.waiting.lock().is_closed = true;
        self.queue.more.notify_all();
        let this = thread::current().id();
        for thread in self.threads.drain(..) {
            // The last owner may be what an ended transfer let go of, on one of these threads.
            if thread.thread().id() != this {
                drop(thread.join());
            }
        }
    }
}
