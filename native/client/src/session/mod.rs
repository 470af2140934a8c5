//! An engine session: one connection, one `Attach` stream, one daemon process.

mod backoff;
mod connection;
mod keep;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pegaflow_core::process::{PeerProcess, ProcessIdentity};
use pegaflow_proto::limits::{BLOCKS_PER_TRANSFER, MESSAGE_BYTES};
use pegaflow_proto::v1::engine_client::EngineClient;
use pegaflow_proto::v1::session_event::Event;
use pegaflow_proto::v1::{self, AttachRequest, SessionEvent, SessionOpened};
use pegaflow_proto::{PROTOCOL_VERSION, is_compatible};
use tokio::time::timeout;
use tonic::{Code, Status, Streaming};

pub(crate) use connection::Connection;
pub(crate) use keep::{Role, keep_attached};

use crate::error::{ClientError, ClientErrorKind, Result};

/// A daemon that hangs answers as soon as it goes on, so a long deadline finds it sooner than many short ones.
const ATTACH_DEADLINE: Duration = Duration::from_secs(10);

/// An open session.
#[derive(Debug)]
pub(crate) struct Session {
    connection: Connection,
    daemon: Arc<PeerProcess>,
    opened: SessionOpened,
    opened_at: Instant,
    draining: AtomicBool,
}

/// What the daemon says on a session's stream.
pub(crate) struct Events {
    stream: Streaming<SessionEvent>,
}

impl Session {
    /// Connects and attaches.
    pub(crate) async fn open(socket: &Path, request: AttachRequest) -> Result<(Arc<Self>, Events)> {
        let attach = async {
            let connection = Connection::open_watched(socket).await?;
            let mut stream = engine_client(&connection)
                .attach(request)
                .await
                .map_err(refused)?
                .into_inner();
            let first = stream.message().await.map_err(refused)?;
            Ok((connection, stream, first.and_then(|event| event.event)))
        };
        let (connection, stream, first) = timeout(ATTACH_DEADLINE, attach)
            .await
            .map_err(|_| overdue("Attach", ATTACH_DEADLINE))??;
        let Some(Event::Opened(opened)) = first else {
            return Err(ClientError::new(
                ClientErrorKind::Refused,
                "the daemon is stopping",
            ));
        };
        let version = opened.version.unwrap_or_default();
        if !is_compatible(&version) {
            return Err(ClientError::new(
                ClientErrorKind::Refused,
                format!(
                    "the daemon {} speaks protocol {}.{}, this client {}.{}: use one release for daemon and engines",
                    opened.daemon_version,
                    version.major,
                    version.minor,
                    PROTOCOL_VERSION.major,
                    PROTOCOL_VERSION.minor
                ),
            ));
        }
        let daemon = PeerProcess::open(connection.peer_pid()).map_err(of_core)?;
        let session = Self {
            connection,
            daemon: Arc::new(daemon),
            opened,
            opened_at: Instant::now(),
            draining: AtomicBool::new(false),
        };
        session.check_daemon(opened_daemon(&session.opened))?;
        Ok((Arc::new(session), Events { stream }))
    }

    /// A client for one call.
    pub(crate) fn rpc(&self) -> EngineClient<Connection> {
        engine_client(&self.connection)
    }

    /// The session's number, as each request names it.
    pub(crate) fn id(&self) -> u64 {
        self.opened.session_id
    }

    /// The daemon's random number of this start.
    pub(crate) fn boot_id(&self) -> u64 {
        self.opened.boot_id
    }

    /// The daemon's process.
    pub(crate) fn daemon(&self) -> &Arc<PeerProcess> {
        &self.daemon
    }

    /// How long the session has been open.
    pub(crate) fn age(&self) -> Duration {
        self.opened_at.elapsed()
    }

    /// A layout whose runs have fewer bytes on average may offer a ring.
    pub(crate) fn ring_below(&self) -> u64 {
        self.opened.ring_below_bytes
    }

    /// How long a lease lasts that is not renewed.
    pub(crate) fn lease_ttl(&self) -> Duration {
        Duration::from_millis(self.opened.lease_ttl_ms.into())
    }

    /// The most blocks that one lookup may name and one load can then load.
    pub(crate) fn blocks_per_lease(&self) -> usize {
        match self.opened.limits {
            Some(limits) => limits.hashes_per_call.min(limits.blocks_per_transfer) as usize,
            None => BLOCKS_PER_TRANSFER,
        }
    }

    /// Whether the daemon is stopping: it takes nothing new.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Refuses a daemon that says it is another process than the socket's peer.
    pub(crate) fn check_daemon(&self, claimed: ProcessIdentity) -> Result<()> {
        self.daemon.check_identity(claimed).map_err(of_core)
    }

    /// Looks at an answer's boot id: another daemon's means that this session is no more.
    pub(crate) fn observe_boot(&self, boot_id: u64) {
        if boot_id != self.opened.boot_id {
            tracing::info!("another daemon answers; attaching again");
            self.end();
        }
    }

    /// Looks at a call's error: a daemon that does not know the session, or what hangs on it, has lost it.
    pub(crate) fn observe_error(&self, status: &Status) {
        if status.code() == Code::NotFound {
            tracing::info!(
                reason = status.message(),
                "the daemon does not know this session; attaching again"
            );
            self.end();
        }
    }

    /// Ends the session; every call on it fails now.
    pub(crate) fn end(&self) {
        self.connection.end();
    }

    /// Returns when the session has ended.
    pub(crate) async fn until_ended(&self, mut events: Events) {
        while let Ok(Some(event)) = events.stream.message().await {
            if let Some(Event::Draining(_)) = event.event {
                self.draining.store(true, Ordering::Relaxed);
            }
        }
    }
}

fn engine_client(connection: &Connection) -> EngineClient<Connection> {
    EngineClient::with_origin(connection.clone(), Connection::origin())
        .max_decoding_message_size(MESSAGE_BYTES)
        .max_encoding_message_size(MESSAGE_BYTES)
}

fn opened_daemon(opened: &SessionOpened) -> ProcessIdentity {
    identity(opened.daemon.unwrap_or_default())
}

/// The identity that a message carries.
pub(crate) fn identity(message: v1::ProcessIdentity) -> ProcessIdentity {
    ProcessIdentity {
        pid: message.pid,
        start_time_ticks: message.start_time_ticks,
    }
}

/// A call's error: the daemon's own sentence, or that the connection ended.
pub(crate) fn refused(status: Status) -> ClientError {
    // Only an error that this side made has a source.
    match std::error::Error::source(&status) {
        Some(source) => {
            tracing::debug!(%source, "a call's connection ended");
            ClientError::new(
                ClientErrorKind::Unreachable,
                "the daemon ended, or cut the connection off, before it answered",
            )
        }
        None if status.message().is_empty() => ClientError::new(
            ClientErrorKind::Refused,
            format!("the daemon refused the call: {}", status.code()),
        ),
        None => ClientError::new(ClientErrorKind::Refused, status.message()),
    }
}

/// The error for an answer that did not come.
pub(crate) fn overdue(call: &str, deadline: Duration) -> ClientError {
    ClientError::new(
        ClientErrorKind::Timeout,
        format!(
            "the daemon did not answer {call} within {:.1} s",
            deadline.as_secs_f64()
        ),
    )
}

/// An error of the core, about the daemon.
pub(crate) fn of_core(error: pegaflow_core::error::Error) -> ClientError {
    ClientError::new(ClientErrorKind::Refused, error.message())
}
