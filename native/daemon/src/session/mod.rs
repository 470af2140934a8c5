//! Engine sessions, and the engines that they make up.

mod engine;
mod pending;
mod registration;
mod snapshot;
mod table;
mod traffic;
mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use pegaflow_core::lease::SessionId;
use pegaflow_core::process::PeerProcess;
use pegaflow_proto::limits::{ENGINE_KEY_BYTES, NAMESPACE_BYTES};

use crate::events::EventLevel;

pub(crate) use engine::{EngineState, Joined};
pub(crate) use pending::PendingLookups;
pub(crate) use registration::Registration;
pub(crate) use snapshot::EngineSnapshot;
pub(crate) use table::Sessions;
pub(crate) use traffic::{Traffic, TransferCounts};
pub(crate) use watch::{EventStream, watch};

/// Joins the sessions of one engine.
pub(crate) type EngineKey = [u8; ENGINE_KEY_BYTES];
/// What blocks are shared under.
pub(crate) type Namespace = [u8; NAMESPACE_BYTES];

/// What a peer says of itself when it attaches.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) engine_key: EngineKey,
    pub(crate) engine_id: String,
    pub(crate) client_version: String,
    pub(crate) role: Role,
    pub(crate) process: Arc<PeerProcess>,
    pub(crate) uid: u32,
}

/// Which half of the connector a peer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Role {
    /// Looks up and holds leases.
    Scheduler(SchedulerRole),
    /// Registers memory, saves and loads.
    Worker { rank: u32, shard: u32 },
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scheduler(_) => f.write_str("scheduler"),
            Self::Worker { rank, .. } => write!(f, "worker {rank}"),
        }
    }
}

/// What the scheduler side knows of its engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SchedulerRole {
    pub(crate) namespace: Namespace,
    pub(crate) model: String,
    pub(crate) workers: u32,
    pub(crate) shards: u32,
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EndReason {
    StreamClosed,
    ProcessEnded,
    Replaced,
    DaemonEnded,
    Evicted,
}

impl EndReason {
    /// The word for metrics and logs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::StreamClosed => "stream_closed",
            Self::ProcessEnded => "process_ended",
            Self::Replaced => "replaced",
            Self::DaemonEnded => "daemon_ended",
            Self::Evicted => "evicted",
        }
    }

    /// What the engine's side did, for events.
    fn sentence(self) -> &'static str {
        match self {
            Self::StreamClosed => "left",
            Self::ProcessEnded => "is gone: its process ended",
            Self::Replaced => "was replaced by a newer session",
            Self::DaemonEnded => "was left by the daemon, which ends",
            Self::Evicted => "was evicted by an operator",
        }
    }

    fn level(self) -> EventLevel {
        match self {
            Self::StreamClosed | Self::Replaced | Self::DaemonEnded => EventLevel::Ok,
            Self::ProcessEnded | Self::Evicted => EventLevel::Warning,
        }
    }
}

/// One process of an engine that talks to the daemon.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) peer: Peer,
    pub(crate) opened: Instant,
    /// What the session's engine moves.
    pub(crate) traffic: Arc<Traffic>,
    /// The state of the session's engine, as it changes.
    pub(crate) engine: tokio::sync::watch::Receiver<EngineState>,
    ended: tokio::sync::watch::Sender<bool>,
}

impl Session {
    /// Whether the session has ended: its transfers must not go on.
    pub(crate) fn has_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// Waits until the session has ended.
    pub(crate) async fn wait_ended(&self) {
        // This holds the sender, so the wait ends only with the session.
        drop(self.ended.subscribe().wait_for(|ended| *ended).await);
    }
}
