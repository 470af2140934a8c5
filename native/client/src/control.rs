//! What operators' commands ask of the daemon: single calls, on the caller's thread.

use std::cell::Cell;
use std::path::Path;
use std::time::{Duration, Instant};

use pegaflow_core::process::PeerProcess;
use pegaflow_proto::limits::MESSAGE_BYTES;
use pegaflow_proto::v1::control_client::ControlClient;
use pegaflow_proto::v1::{StatusRequest, StopRequest};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::runtime::Builder;
use tonic::{Code, Response, Status};

use crate::error::{ClientError, ClientErrorKind, Result};
use crate::session::{Connection, of_core, refused};

/// What a daemon left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped {
    /// The pid that it had.
    pub pid: u32,
    /// Pool bytes that stay taken for the next daemon.
    pub pool_bytes_kept: u64,
}

/// The daemon's status document, as JSON.
pub fn status(socket: &Path, timeout: Duration) -> Result<String> {
    let json = block_on("Status", timeout, async |peer| {
        let connection = Connection::open(socket).await?;
        peer.set(Some(connection.peer_pid()));
        let answer = answer_of(client(&connection).status(StatusRequest {}).await)?;
        Ok(answer.json)
    })?;
    String::from_utf8(json.to_vec())
        .map_err(|_| ClientError::new(ClientErrorKind::Refused, "the daemon's status is not UTF-8"))
}

/// Drains and ends the daemon; returns when its process has ended.
pub fn stop(socket: &Path, purge: bool, timeout: Duration) -> Result<Stopped> {
    let deadline = Instant::now() + timeout;
    let (daemon, pool_bytes_kept) = block_on("Stop", timeout, async |peer| {
        let connection = Connection::open(socket).await?;
        peer.set(Some(connection.peer_pid()));
        let daemon = PeerProcess::open(connection.peer_pid()).map_err(of_core)?;
        let answer = answer_of(client(&connection).stop(StopRequest { purge }).await)?;
        Ok((daemon, answer.pool_bytes_kept))
    })?;
    let pid = daemon.identity().pid;
    if !ends_before(&daemon, deadline)? {
        return Err(ClientError::new(
            ClientErrorKind::Timeout,
            format!(
                "the daemon (pid {pid}) still runs {:.1} s after it was told to stop: wait for its end, or kill it",
                timeout.as_secs_f64()
            ),
        ));
    }
    Ok(Stopped { pid, pool_bytes_kept })
}

pub(crate) fn client(connection: &Connection) -> ControlClient<Connection> {
    ControlClient::with_origin(connection.clone(), Connection::origin())
        .max_decoding_message_size(MESSAGE_BYTES)
}

pub(crate) fn answer_of<T>(answer: std::result::Result<Response<T>, Status>) -> Result<T> {
    answer.map(Response::into_inner).map_err(refusal)
}

/// The error for a refusal, which tells a mistake of the caller from the rest.
pub(crate) fn refusal(status: Status) -> ClientError {
    let code = status.code();
    let error = refused(status);
    if error.kind() == ClientErrorKind::Refused && code == Code::InvalidArgument {
        return ClientError::new(ClientErrorKind::Invalid, error.message());
    }
    error
}

/// Runs `task`, which tells the pid that it is connected to, on this thread.
fn block_on<T>(
    call: &str,
    timeout: Duration,
    task: impl AsyncFnOnce(&Cell<Option<u32>>) -> Result<T>,
) -> Result<T> {
    let runtime = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| ClientError::new(ClientErrorKind::Config, format!("start a call: {source}")))?;
    let peer = Cell::new(None);
    runtime
        .block_on(async { tokio::time::timeout(timeout, task(&peer)).await })
        .map_err(|_| overdue(call, peer.get(), timeout))?
}

/// The error for an answer that a command waited for in vain.
pub(crate) fn overdue(call: &str, peer_pid: Option<u32>, timeout: Duration) -> ClientError {
    let who = peer_pid.map_or_else(String::new, |pid| format!(" (pid {pid})"));
    ClientError::new(
        ClientErrorKind::Timeout,
        format!(
            "the daemon{who} did not answer {call} within {:.1} s: allow more time with --timeout, or kill it if it hangs",
            timeout.as_secs_f64()
        ),
    )
}

/// Waits for the end of the process; false when it still runs at the deadline.
fn ends_before(process: &PeerProcess, deadline: Instant) -> Result<bool> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).unwrap_or(Timespec {
            tv_sec: i64::MAX,
            tv_nsec: 0,
        });
        match poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&timeout)) {
            Ok(ready) => return Ok(ready > 0),
            Err(Errno::INTR) => {}
            Err(errno) => {
                return Err(ClientError::new(
                    ClientErrorKind::Refused,
                    format!("wait for the daemon's end: {errno}"),
                ));
            }
        }
    }
}
