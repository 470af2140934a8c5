//! The lock beside the socket: one daemon at a time, and only after the one before has ended.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::process::{PeerProcess, ProcessIdentity};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::config::DaemonConfig;

/// How long a killed daemon's process may take to end: its memory goes first.
const ENDING: Duration = Duration::from_secs(30);

/// The lock, held; its file is removed when this is dropped.
#[derive(Debug)]
pub(super) struct SocketLock {
    file: File,
    path: PathBuf,
}

impl SocketLock {
    /// Takes the lock of `socket` for the process `owner`.
    pub(super) fn take(socket: &Path, owner: ProcessIdentity) -> Result<Self> {
        let path = DaemonConfig::beside_socket(socket, ".lock");
        let mut file = loop {
            let file = open(&path)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => return Err(in_use(socket, &path)),
                Err(error) => return Err(Error::io(format_args!("lock {}", path.display()), error.into())),
            }
            // The daemon before may have removed the file after it was opened here: then another file is the lock.
            if is_at(&file, &path) {
                break file;
            }
        };
        // Until then the file names the daemon before: one that has not ended must be found by the next start too.
        wait_for_end(&path, owner)?;
        write(&mut file, owner)
            .map_err(|error| Error::io(format_args!("write {}", path.display()), error))?;
        Ok(Self { file, path })
    }

    /// Whether the file is where others look for it.
    pub(super) fn is_in_place(&self) -> bool {
        is_at(&self.file, &self.path)
    }
}

impl Drop for SocketLock {
    fn drop(&mut self) {
        // While the lock is still held. A file that stays is taken over by the next daemon, and another's is its own.
        if self.is_in_place() {
            drop(fs::remove_file(&self.path));
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(held), Ok(named)) => identity(held) == identity(named),
        _ => false,
    }
}

fn write(file: &mut File, owner: ProcessIdentity) -> io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{} {}", owner.pid, owner.start_time_ticks)
}

fn open(path: &Path) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .map_err(|error| Error::io(format_args!("open {}", path.display()), error))
}

/// The process that the lock's file names, if it names one.
fn recorded(path: &Path) -> Option<ProcessIdentity> {
    let text = fs::read_to_string(path).ok()?;
    let (pid, start) = text.trim().split_once(' ')?;
    Some(ProcessIdentity {
        pid: pid.parse().ok()?,
        start_time_ticks: start.parse().ok()?,
    })
}

fn in_use(socket: &Path, path: &Path) -> Error {
    let (who, kill) = recorded(path).map_or_else(
        || ("another daemon".to_owned(), String::new()),
        |owner| {
            (
                format!("daemon {}", owner.pid),
                format!(" or `kill {}`", owner.pid),
            )
        },
    );
    Error::new(
        ErrorKind::Config,
        format!(
            "{who} serves {} already: use it, end it with `pegaflow stop`{kill}, or choose another socket",
            socket.display()
        ),
    )
}

/// A killed process lets go of its locks before it has ended, while its copies into engines may still land.
fn wait_for_end(path: &Path, owner: ProcessIdentity) -> Result<()> {
    let Some(last) = recorded(path).filter(|last| *last != owner) else {
        return Ok(());
    };
    let Ok(process) = PeerProcess::open(last.pid) else {
        return Ok(());
    };
    if process.identity() != last {
        return Ok(());
    }
    tracing::info!(
        pid = last.pid,
        "waiting for the end of the daemon before this one"
    );
    let mut fds = [PollFd::new(&process, PollFlags::IN)];
    let limit = Timespec {
        tv_sec: ENDING.as_secs().cast_signed(),
        tv_nsec: 0,
    };
    match poll(&mut fds, Some(&limit)) {
        Ok(ready) if ready > 0 => Ok(()),
        _ => Err(Error::new(
            ErrorKind::Config,
            format!(
                "daemon {} has let go of its socket but has not ended: wait for its end, or kill it",
                last.pid
            ),
        )),
    }
}
