//! A process on the other side of a socket, held so that a reused pid can never be taken for it.

use std::fmt;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::error::{Error, ErrorKind, Result};

#[cfg(test)]
mod tests;

/// What tells a process from every other one since boot: its pid and when it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProcessIdentity {
    /// The pid, as this process's pid namespace has it.
    pub pid: u32,
    /// Field 22 of `/proc/PID/stat`: clock ticks since boot.
    pub start_time_ticks: u64,
}

impl ProcessIdentity {
    /// The identity of the process that has this pid now.
    pub fn of(pid: u32) -> Result<Self> {
        let path = format!("/proc/{pid}/stat");
        let stat = fs::read(&path).map_err(|source| match source.raw_os_error() {
            Some(libc::ENOENT | libc::ESRCH) => ended(pid),
            _ => Error::io(format_args!("read {path}"), source),
        })?;
        let start_time_ticks = start_time_ticks(&stat)
            .ok_or_else(|| Error::new(ErrorKind::Io, format!("{path} has no start time in field 22")))?;
        Ok(Self {
            pid,
            start_time_ticks,
        })
    }
}

impl fmt::Display for ProcessIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "process {} (started at tick {})",
            self.pid, self.start_time_ticks
        )
    }
}

/// Another process, held by a pidfd.
///
/// **It has ended only when the pidfd is readable**: sockets and locks of a killed process are
/// released while its threads may still be copying.
#[derive(Debug)]
pub struct PeerProcess {
    identity: ProcessIdentity,
    pidfd: OwnedFd,
}

impl PeerProcess {
    /// Holds the process with this pid, as `SO_PEERCRED` gave it.
    pub fn open(pid: u32) -> Result<Self> {
        let raw = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or_else(|| {
            Error::new(
                ErrorKind::Permission,
                format!(
                    "the peer's pid is {pid}, so it is in a pid namespace that is not visible here: \
                     run daemon and engines in one pid namespace (containers: --pid=host or a shared one)"
                ),
            )
        })?;
        let pidfd = pidfd_open(raw, PidfdFlags::empty()).map_err(|errno| match errno {
            rustix::io::Errno::SRCH => ended(pid),
            _ => Error::io(format_args!("pidfd_open of process {pid}"), errno.into()),
        })?;
        let peer = Self {
            identity: ProcessIdentity::of(pid)?,
            pidfd,
        };
        // Alive after its start time was read: the start time is that of the process the pidfd holds.
        peer.check_alive()?;
        Ok(peer)
    }

    /// Pid and start time.
    pub fn identity(&self) -> ProcessIdentity {
        self.identity
    }

    /// Whether the process has ended: no thread of it runs any more.
    pub fn has_ended(&self) -> Result<bool> {
        let mut fds = [PollFd::new(&self.pidfd, PollFlags::IN)];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        loop {
            match poll(&mut fds, Some(&now)) {
                Ok(ready) => return Ok(ready > 0),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(Error::io(format_args!("poll {}", self.identity), errno.into())),
            }
        }
    }

    /// Refuses with [`ErrorKind::PeerEnded`] once the process has ended.
    ///
    /// While this succeeds the pid is still this process's own: an ended process keeps its pid only until it is reaped.
    pub fn check_alive(&self) -> Result<()> {
        if self.has_ended()? {
            Err(ended(self.identity.pid))
        } else {
            Ok(())
        }
    }

    /// Refuses with [`ErrorKind::Conflict`] when `claimed` is another process.
    pub fn check_identity(&self, claimed: ProcessIdentity) -> Result<()> {
        if claimed == self.identity {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Conflict,
            format!(
                "the socket's peer is {}, but it says that it is {claimed}: \
                 run daemon and engines in one pid namespace, without a proxy on the socket",
                self.identity
            ),
        ))
    }
}

/// Readable once the process has ended.
impl AsFd for PeerProcess {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pidfd.as_fd()
    }
}

/// The error for a process that is no more.
pub(crate) fn ended(pid: u32) -> Error {
    Error::new(ErrorKind::PeerEnded, format!("process {pid} has ended"))
}

/// The error for an operating system's answer about the memory of process `pid`.
pub(crate) fn memory_error(pid: u32, what: &str, address: u64, source: io::Error) -> Error {
    match source.raw_os_error() {
        Some(libc::ESRCH) => ended(pid),
        Some(libc::EPERM) => Error::new(
            ErrorKind::Permission,
            format!(
                "cannot {what} memory of process {pid}: {source} (kernel.yama.ptrace_scope is {}); run daemon and \
                 engine as one user, without PR_SET_DUMPABLE off; with ptrace_scope 1 the engine allows the daemon by \
                 PR_SET_PTRACER, 2 needs CAP_SYS_PTRACE for the daemon, 3 forbids it; in a container add SYS_PTRACE",
                yama_scope()
            ),
        ),
        _ => Error::io(
            format_args!("{what} memory of process {pid} at {address:#x}"),
            source,
        ),
    }
}

fn yama_scope() -> String {
    fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope")
        .map_or_else(|_| "absent".to_owned(), |scope| scope.trim().to_owned())
}

/// Field 22; the name in field 2 may hold spaces and parentheses, so fields are counted from the last ')'.
fn start_time_ticks(stat: &[u8]) -> Option<u64> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}
