//! The engine of one io_uring: a thread owns it, feeds it, and tells the ends.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use io_uring::{IoUring, cqueue, opcode, squeue, types};
use rustix::event::EventfdFlags;

use super::vector::Transfer;
use super::{Action, IoEngine, Op};
use crate::ssd::config::IoEngineKind;
use crate::sync::Mutex;

/// Entries of the ring: transfers at a time, syncs, and the one that waits for more.
const ENTRIES: u32 = 128;
/// What the wait for more is known by; transfers have the numbers of their places.
const WAKE: u64 = u64::MAX;

/// One ring.
#[derive(Debug)]
pub(super) struct UringEngine {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Written to when the thread is to look at what waits.
    wake: OwnedFd,
}

#[derive(Debug, Default)]
struct Waiting {
    ops: VecDeque<Op>,
    is_closed: bool,
}

impl UringEngine {
    /// A ring and its thread.
    ///
    /// # Errors
    /// Why this system has no io_uring for this process.
    pub(super) fn start() -> io::Result<Arc<Self>> {
        let ring = IoUring::builder().setup_clamp().build(ENTRIES).map_err(|error| {
            let why = "a kernel older than 5.11, a container's seccomp profile, or kernel.io_uring_disabled";
            io::Error::new(error.kind(), format!("{error} (the reason can be {why})"))
        })?;
        let shared = Arc::new(Shared {
            waiting: Mutex::default(),
            wake: rustix::event::eventfd(0, EventfdFlags::CLOEXEC)?,
        });
        let mut owner = Owner {
            ring,
            shared: Arc::clone(&shared),
            transfers: Vec::new(),
            free: Vec::new(),
            wake_count: Box::new(0),
            is_listening: false,
        };
        let thread = thread::Builder::new()
            .name("ssd-uring".into())
            .spawn(move || owner.run())?;
        Ok(Arc::new(Self {
            shared,
            thread: Some(thread),
        }))
    }
}

impl IoEngine for UringEngine {
    fn kind(&self) -> IoEngineKind {
        IoEngineKind::Uring
    }

    fn submit(&self, op: Op) {
        self.shared.waiting.lock().ops.push_back(op);
        self.shared.wake();
    }
}

impl Shared {
    fn wake(&self) {
        // Fails only when the counter is full: the thread has been told then.
        let _ = rustix::io::write(&self.wake, &[1, 0, 0, 0, 0, 0, 0, 1]);
    }
}

impl Drop for UringEngine {
    fn drop(&mut self) {
        self.shared.waiting.lock().is_closed = true;
        self.shared.wake();
        // The last owner may be what an ended transfer let go of, on that thread.
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != thread::current().id()
        {
            drop(thread.join());
        }
    }
}

/// The ring's thread.
struct Owner {
    ring: IoUring,
    shared: Arc<Shared>,
    /// What the kernel has, by number; None for free numbers.
    transfers: Vec<Option<Box<Transfer>>>,
    free: Vec<usize>,
    /// What the wait for more reads: it has ended before the thread does.
    wake_count: Box<u64>,
    is_listening: bool,
}

impl Owner {
    fn run(&mut self) {
        loop {
            let is_closed = self.begin_waiting();
            if is_closed && !self.is_listening && self.free.len() == self.transfers.len() {
                return;
            }
            if !is_closed {
                self.listen();
            }
            if let Err(error) = self.ring.submit_and_wait(1)
                && error.kind() != io::ErrorKind::Interrupted
            {
                // The kernel is short of memory for now; what it took goes on.
                tracing::warn!(%error, "io_uring takes no transfers, which are tried again");
                thread::sleep(std::time::Duration::from_millis(10));
            }
            self.tell_ends();
        }
    }

    /// Gives the kernel what waits; whether nothing more will come.
    fn begin_waiting(&mut self) -> bool {
        let (ops, is_closed) = {
            let mut waiting = self.shared.waiting.lock();
            let room = (ENTRIES as usize - 1).saturating_sub(self.transfers.len() - self.free.len());
            let count = waiting.ops.len().min(room);
            (
                waiting.ops.drain(..count).collect::<Vec<_>>(),
                waiting.is_closed && waiting.ops.is_empty(),
            )
        };
        for op in ops {
            let number = self.free.pop().unwrap_or_else(|| {
                self.transfers.push(None);
                self.transfers.len() - 1
            });
            self.begin(number, Box::new(Transfer::new(op)));
        }
        is_closed
    }

    /// Gives the kernel the next call of a transfer.
    fn begin(&mut self, number: usize, transfer: Box<Transfer>) {
        let file = types::Fd(transfer.op.file.as_raw_fd());
        let (first, count) = (transfer.pieces().as_ptr(), transfer.pieces().len() as u32);
        let offset = transfer.offset();
        let entry = match transfer.op.action {
            Action::Read => opcode::Readv::new(file, first, count).offset(offset).build(),
            Action::Write => opcode::Writev::new(file, first, count).offset(offset).build(),
            Action::Sync => opcode::Fsync::new(file)
                .flags(types::FsyncFlags::DATASYNC)
                .build(),
        };
        if let Some(place) = self.transfers.get_mut(number) {
            *place = Some(transfer);
            self.push(&entry.user_data(number as u64));
        }
    }

    /// Has the kernel say when there is more to do.
    fn listen(&mut self) {
        if !self.is_listening {
            let file = types::Fd(self.shared.wake.as_raw_fd());
            let count: *mut u64 = &mut *self.wake_count;
            let entry = opcode::Read::new(file, count.cast(), size_of::<u64>() as u32).build();
            self.is_listening = true;
            self.push(&entry.user_data(WAKE));
        }
    }

    fn push(&mut self, entry: &squeue::Entry) {
        loop {
            #[expect(unsafe_code, reason = "the kernel follows the addresses of an entry")]
            // SAFETY: file, pieces and memory belong to a transfer that `transfers` keeps until the kernel has told its end, or
            // to this owner, which outlives its ring.
            let pushed = unsafe { self.ring.submission().push(entry) };
            if pushed.is_ok() {
                return;
            }
            // The queue is full: the kernel takes it without waiting for any end.
            drop(self.ring.submit());
        }
    }

    /// Tells what has ended, and goes on with what has not quite.
    fn tell_ends(&mut self) {
        let ended: Vec<cqueue::Entry> = self.ring.completion().collect();
        for entry in ended {
            if entry.user_data() == WAKE {
                self.is_listening = false;
                continue;
            }
            let number = entry.user_data() as usize;
            let Some(mut transfer) = self.transfers.get_mut(number).and_then(Option::take) else {
                continue;
            };
            let answer = usize::try_from(entry.result())
                .map_err(|_| io::Error::from_raw_os_error(entry.result().saturating_neg()));
            match transfer.advance(answer) {
                None => self.begin(number, transfer),
                Some(result) => {
                    self.free.push(number);
                    transfer.end(result);
                }
            }
        }
    }
}
