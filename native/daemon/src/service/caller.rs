//! Who calls: taken from the socket, never from a message.

use pegaflow_core::error::{Error, ErrorKind, Result};
use rustix::process::geteuid;
use tonic::Request;
use tonic::transport::server::UdsConnectInfo;

use crate::connections::CallerInfo;

/// The process on the other side of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller {
    pub(super) pid: u32,
    pub(super) uid: u32,
}

impl Caller {
    /// The caller of this request, who must be the daemon's user or root; with `is_shared`, whoever the socket's mode let
    /// connect.
    ///
    /// # Errors
    /// `Permission`, with the remedy.
    pub(super) fn of<T>(request: &Request<T>, is_shared: bool) -> Result<Self> {
        let info = request.extensions().get::<CallerInfo<UdsConnectInfo>>();
        let credentials = info.and_then(|info| info.peer.peer_cred).ok_or_else(|| {
            Error::new(
                ErrorKind::Permission,
                "the socket does not tell who calls: use the daemon's Unix socket",
            )
        })?;
        // A pid of 0 is one that this pid namespace does not have; `PeerProcess::open` says what to do about it.
        let pid = credentials.pid().map_or(0, i32::cast_unsigned);
        let caller = Self {
            pid,
            uid: credentials.uid(),
        };
        let own = geteuid().as_raw();
        if is_shared || caller.uid == own || caller.uid == 0 {
            return Ok(caller);
        }
        Err(Error::new(
            ErrorKind::Permission,
            format!(
                "user {} may not use the daemon of user {own}: run both as one user, or start the daemon with --socket-group",
                caller.uid
            ),
        ))
    }
}
