//! `Attach`: opens an engine session.

use std::sync::Arc;

use pegaflow_core::error::Error;
use pegaflow_core::process::PeerProcess;
use pegaflow_proto::limits::{BLOCKS_PER_TRANSFER, HASHES_PER_CALL, SEGMENTS_PER_BLOCK, WORKERS};
use pegaflow_proto::v1::attach_request::Role as RoleMessage;
use pegaflow_proto::v1::{AttachRequest, Limits, ProtocolVersion, SessionOpened};
use pegaflow_proto::{PROTOCOL_VERSION, is_compatible};

use super::caller::Caller;
use super::check;
use super::refusal::{Answer, Refusal};
use crate::boot::VERSION;
use crate::daemon::Daemon;
use crate::session::{EndReason, EventStream, Peer, Role, SchedulerRole, watch};

pub(super) fn attach(daemon: &Arc<Daemon>, caller: Caller, request: AttachRequest) -> Answer<EventStream> {
    check_version(request.version.unwrap_or_default())?;
    let peer = Peer {
        engine_key: check::fixed("engine_key", &request.engine_key)?,
        engine_id: check::name("engine_id", request.engine_id)?,
        client_version: check::name("client_version", request.client_version)?,
        role: role(request.role)?,
        process: Arc::new(PeerProcess::open(caller.pid)?),
        uid: caller.uid,
    };
    let session = daemon.sessions.open(peer)?;
    tracing::info!(
        engine = session.peer.engine_id,
        session = session.id.0,
        pid = caller.pid,
        role = %session.peer.role,
        version = session.peer.client_version,
        "engine session opened"
    );
    let opened = SessionOpened {
        boot_id: daemon.boot.id,
        session_id: session.id.0,
        version: Some(PROTOCOL_VERSION),
        daemon: Some(daemon.boot.process_message()),
        daemon_version: VERSION.to_owned(),
        lease_ttl_ms: u32::try_from(daemon.config.lease_ttl()?.as_millis()).unwrap_or(u32::MAX),
        limits: Some(Limits {
            hashes_per_call: HASHES_PER_CALL as u32,
            blocks_per_transfer: BLOCKS_PER_TRANSFER as u32,
            segments_per_block: SEGMENTS_PER_BLOCK as u32,
            page_bytes: daemon.store.pool_snapshot().slab_bytes,
        }),
        ring_below_bytes: daemon.config.gpu_settings().strategy.ring_below(),
    };
    watch(daemon, &session, opened).map_err(|error| {
        daemon.sessions.end(session.id, EndReason::StreamClosed);
        Error::io("watch the engine's process", error).into()
    })
}

fn check_version(peer: ProtocolVersion) -> Answer<()> {
    if is_compatible(&peer) {
        return Ok(());
    }
    Err(Refusal::precondition(format!(
        "the peer speaks protocol {}.{}, this daemon (pegaflow {VERSION}) speaks {}.{}: install one version of pegaflow for \
         daemon and engine",
        peer.major, peer.minor, PROTOCOL_VERSION.major, PROTOCOL_VERSION.minor
    )))
}

fn role(message: Option<RoleMessage>) -> Answer<Role> {
    match message {
        Some(RoleMessage::Scheduler(role)) => Ok(Role::Scheduler(SchedulerRole {
            namespace: check::fixed("namespace", &role.namespace)?,
            model: check::name("model", role.model)?,
            workers: check::range("workers", role.workers, 1, WORKERS)?,
            shards: check::range("shards", role.shards, 1, role.workers)?,
        })),
        Some(RoleMessage::Worker(role)) => Ok(Role::Worker {
            rank: check::range("rank", role.rank, 0, WORKERS - 1)?,
            shard: check::range("shard", role.shard, 0, WORKERS - 1)?,
        }),
        None => Err(Refusal::invalid(
            "role is missing: scheduler or worker is allowed",
        )),
    }
}
