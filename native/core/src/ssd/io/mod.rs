//! Reads, writes and syncs of files, as engines do them: io_uring, threads, and one that fails on purpose in tests.

mod buffer;
#[cfg(test)]
pub(super) mod fault;
mod psync;
#[cfg(test)]
mod tests;
mod uring;
mod vector;
mod watched;

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Once};

use rustix::fs::FallocateFlags;

use super::config::IoEngineKind;
use crate::error::{Error, Result};
use crate::pool::PagePtr;
pub(super) use buffer::Buffer;
use psync::PsyncEngine;
use uring::UringEngine;
pub(super) use watched::Watched;

/// Reads of a path that are at the disk at one time, each of a whole block.
pub(super) const QUEUE_DEPTH: usize = 32;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// From the file into the memory.
    Read,
    /// From the memory to the file.
    Write,
    /// Everything written to the file so far becomes safe from a loss of power.
    Sync,
}

/// Told on a thread of the engine when nothing touches the memory any more.
pub(super) type IoDone = Box<dyn FnOnce(io::Result<()>) + Send>;

/// One transfer, whole or not at all.
pub(super) struct Op {
    pub(super) action: Action,
    pub(super) file: Arc<File>,
    /// A multiple of 4,096.
    pub(super) offset: u64,
    /// Pieces that begin at multiples of 4,096 and are as long as such; whoever submits them keeps them until the end.
    pub(super) memory: Vec<PagePtr>,
    pub(super) done: IoDone,
}

impl Op {
    /// Makes what was written to a file safe.
    pub(super) fn sync(file: Arc<File>, done: IoDone) -> Self {
        Self {
            action: Action::Sync,
            file,
            offset: 0,
            memory: Vec::new(),
            done,
        }
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Op")
            .field("action", &self.action)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

/// Does transfers, several at a time, in any order.
pub(super) trait IoEngine: Send + Sync + fmt::Debug {
    /// Which of the settings this is.
    fn kind(&self) -> IoEngineKind;

    /// Begins a transfer; never waits for a disk. Its `done` is called once, whatever happens.
    ///
    /// A read of bytes behind the end of the file is an `UnexpectedEof`.
    fn submit(&self, op: Op);

    /// Gives a new file room on the disk.
    fn allocate(&self, file: &File, bytes: u64) -> io::Result<()> {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, bytes) {
            // Not all file systems can say at once that there is room.
            Err(rustix::io::Errno::OPNOTSUPP) => file.set_len(bytes),
            allocated => allocated.map_err(Into::into),
        }
    }

    /// Bytes that the file system of a directory has for more files.
    fn available(&self, dir: &Path) -> io::Result<u64> {
        let file_system = rustix::fs::statvfs(dir)?;
        Ok(file_system.f_bavail.saturating_mul(file_system.f_frsize))
    }

    /// Takes a file's name away.
    fn delete(&self, file: &Path) -> io::Result<()> {
        std::fs::remove_file(file)
    }
}

/// Makes engines; tests have others.
pub(super) trait EngineSource: Send + Sync + fmt::Debug {
    /// An engine for the files of one directory.
    fn start(&self, dir: &Path) -> Result<Arc<dyn IoEngine>>;
}

/// What makes the engines of a tier.
pub(super) type Engines = Box<dyn EngineSource>;

impl EngineSource for IoEngineKind {
    fn start(&self, _dir: &Path) -> Result<Arc<dyn IoEngine>> {
        start(*self)
    }
}

/// An engine of this kind; of `Auto`, the first that the system allows.
fn start(kind: IoEngineKind) -> Result<Arc<dyn IoEngine>> {
    match kind {
        IoEngineKind::Psync => Ok(PsyncEngine::start()?),
        IoEngineKind::Uring => Ok(UringEngine::start().map_err(|error| {
            Error::io(
                "start io_uring, which psync or auto as the engine do without",
                error,
            )
        })?),
        IoEngineKind::Auto => match UringEngine::start() {
            Ok(engine) => Ok(engine),
            Err(error) => {
                static SAID: Once = Once::new();
                SAID.call_once(|| {
                    tracing::warn!(%error, "io_uring cannot be had, so threads read and write the ssd tier");
                });
                Ok(PsyncEngine::start()?)
            }
        },
    }
}

/// Does one transfer and waits for its end.
pub(super) fn wait(
    engine: &dyn IoEngine,
    action: Action,
    file: &Arc<File>,
    offset: u64,
    memory: Vec<PagePtr>,
) -> io::Result<()> {
    let (sender, receiver) = std::sync::mpsc::sync_channel(1);
    engine.submit(Op {
        action,
        file: Arc::clone(file),
        offset,
        memory,
        done: Box::new(move |result| drop(sender.send(result))),
    });
    receiver
        .recv()
        .unwrap_or_else(|_| Err(io::Error::other("the engine has ended")))
}
