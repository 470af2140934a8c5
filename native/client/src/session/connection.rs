//! One HTTP/2 connection over the daemon's socket.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustix::net::{Shutdown, shutdown};
use rustix::process::geteuid;
use tokio::net::UnixStream;
use tokio::time::sleep;
use tonic::body::Body;
use tonic::codegen::Service;
use tonic::codegen::http::{Request, Response, Uri};

use crate::error::{ClientError, ClientErrorKind, Result};

/// A daemon that answers no ping for [`PING_TIMEOUT`] is given up; one ping each interval.
const PING_INTERVAL: Duration = Duration::from_millis(500);
const PING_TIMEOUT: Duration = Duration::from_millis(1_500);

/// How long to wait when too many wait to be accepted.
const FULL: Duration = Duration::from_millis(20);

/// A way to send requests on one connection: it never connects again, so all answers are of one process.
#[derive(Debug, Clone)]
pub(crate) struct Connection {
    sender: http2::SendRequest<Body>,
    socket: Arc<Socket>,
    peer_pid: u32,
}

/// The socket, kept to end the connection from outside.
#[derive(Debug)]
struct Socket(OwnedFd);

impl Connection {
    /// Connects to the socket at `path`, for calls that have deadlines of their own.
    pub(crate) async fn open(path: &Path) -> Result<Self> {
        Self::open_with(path, &http2::Builder::new(TokioExecutor::new())).await
    }

    /// Connects to the socket at `path`; the connection ends when the daemon does not answer its pings.
    pub(crate) async fn open_watched(path: &Path) -> Result<Self> {
        let mut builder = http2::Builder::new(TokioExecutor::new());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true);
        Self::open_with(path, &builder).await
    }

    async fn open_with(path: &Path, builder: &http2::Builder<TokioExecutor>) -> Result<Self> {
        let unreachable = |source: &dyn std::error::Error| {
            ClientError::new(
                ClientErrorKind::Unreachable,
                format!(
                    "no daemon answers on {}: {source}; start one with `pegaflow serve`",
                    path.display()
                ),
            )
        };
        let stream = connect(path).await.map_err(|source| {
            if source.kind() == io::ErrorKind::PermissionDenied {
                return forbidden(path);
            }
            unreachable(&source)
        })?;
        let peer = stream.peer_cred().map_err(|source| unreachable(&source))?;
        let socket = stream
            .as_fd()
            .try_clone_to_owned()
            .map_err(|source| unreachable(&source))?;
        let (sender, driver) = builder
            .handshake(TokioIo::new(stream))
            .await
            .map_err(|source| unreachable(&source))?;
        tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(%error, "the connection to the daemon ended");
            }
        });
        // A pid that is not visible here is 0, which nothing accepts as a process.
        let peer_pid = peer.pid().and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0);
        Ok(Self {
            sender,
            socket: Arc::new(Socket(socket)),
            peer_pid,
        })
    }

    /// The pid of the process that listens, from the socket's credentials.
    pub(crate) fn peer_pid(&self) -> u32 {
        self.peer_pid
    }

    /// Ends the connection; what waits for an answer on it fails now.
    pub(crate) fn end(&self) {
        self.socket.end();
    }

    /// The origin that HTTP/2 wants to be named; sockets have none.
    pub(crate) fn origin() -> Uri {
        Uri::from_static("http://daemon")
    }
}

/// Connects, once the daemon has room among those that wait for it.
async fn connect(path: &Path) -> io::Result<UnixStream> {
    loop {
        match UnixStream::connect(path).await {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => sleep(FULL).await,
            connected => return connected,
        }
    }
}

/// The error for a socket that is not this user's to use, whether or not a daemon answers on it.
fn forbidden(path: &Path) -> ClientError {
    ClientError::new(
        ClientErrorKind::Refused,
        format!(
            "user {} may not use the socket {}: be the user whose daemon it is, or start the daemon with `--socket-group` and be in that group",
            geteuid().as_raw(),
            path.display()
        ),
    )
}

impl Socket {
    fn end(&self) {
        // Fails only where the connection has ended already.
        let _ = shutdown(&self.0, Shutdown::Both);
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.end();
    }
}

impl Service<Request<Body>> for Connection {
    type Response = Response<Incoming>;
    type Error = hyper::Error;
    type Future = Pin<Box<dyn Future<Output = hyper::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<hyper::Result<()>> {
        self.sender.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        Box::pin(self.sender.send_request(request))
    }
}
