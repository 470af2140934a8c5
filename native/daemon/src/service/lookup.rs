//! `Lookup`, `Release` and `Renew`: the scheduler side's calls.

use std::sync::Arc;
use std::time::Instant;

use pegaflow_core::error::{Error, ErrorKind};
use pegaflow_core::lease::LeaseId;
use pegaflow_proto::limits::{HASHES_PER_CALL, LEASES_PER_SESSION};
use pegaflow_proto::v1::lookup_response::State;
use pegaflow_proto::v1::{
    LookupRequest, LookupResponse, ReleaseRequest, ReleaseResponse, RenewRequest, RenewResponse,
};

use super::caller::Caller;
use super::check;
use super::refusal::{Answer, Refusal};
use crate::daemon::Daemon;
use crate::session::{EngineState, Joined, Role, SchedulerRole, Session};
use crate::telemetry::BlockCounts;

pub(super) fn lookup(daemon: &Daemon, caller: Caller, request: LookupRequest) -> Answer<LookupResponse> {
    let session = daemon.sessions.find(request.session_id, caller.pid)?;
    let role = scheduler_role(&session)?;
    let Some(joined) = joined(&session)? else {
        return Ok(answer(daemon, State::EngineIncomplete, 0, 0));
    };
    check::group(request.group, &joined)?;
    let requested = check::hash_count(&request.hashes, request.hash_bytes, &joined, HASHES_PER_CALL)?;

    let began = Instant::now();
    let hits = daemon.store.lookup(joined.space, &request.hashes)?;
    let memory = hits.len();
    let lease_id = if hits.is_empty() {
        0
    } else {
        daemon.leases.grant(session.id, hits, joined.workers, began)?.0
    };
    daemon.metrics.lookup_duration.observe(began.elapsed());
    let miss = requested.saturating_sub(memory) as u64;
    daemon.metrics.blocks.add(
        &role.namespace,
        &BlockCounts {
            memory: memory as u64,
            miss,
            ..BlockCounts::default()
        },
    );
    tracing::debug!(
        request = request.request_id,
        requested,
        memory,
        lease_id,
        "lookup"
    );
    Ok(answer(daemon, State::Ready, memory, lease_id))
}

fn answer(daemon: &Daemon, state: State, memory_blocks: usize, lease_id: u64) -> LookupResponse {
    LookupResponse {
        boot_id: daemon.boot.id,
        state: state.into(),
        memory_blocks: u32::try_from(memory_blocks).unwrap_or(u32::MAX),
        ssd_blocks: 0,
        remote_blocks: 0,
        lease_id,
    }
}

pub(super) fn release(daemon: &Daemon, caller: Caller, request: &ReleaseRequest) -> Answer<ReleaseResponse> {
    let session = lease_owner(daemon, caller, request.session_id, &request.lease_ids)?;
    let held = request
        .lease_ids
        .iter()
        .filter(|&&id| daemon.leases.release(session.id, LeaseId(id)))
        .count();
    Ok(ReleaseResponse {
        boot_id: daemon.boot.id,
        released: u32::try_from(held).unwrap_or(u32::MAX),
    })
}

pub(super) fn renew(daemon: &Daemon, caller: Caller, request: RenewRequest) -> Answer<RenewResponse> {
    let session = lease_owner(daemon, caller, request.session_id, &request.lease_ids)?;
    let now = Instant::now();
    let mut unknown = request.lease_ids;
    unknown.retain(|&id| !daemon.leases.renew(session.id, LeaseId(id), now));
    Ok(RenewResponse {
        boot_id: daemon.boot.id,
        unknown,
    })
}

fn lease_owner(daemon: &Daemon, caller: Caller, id: u64, lease_ids: &[u64]) -> Answer<Arc<Session>> {
    let session = daemon.sessions.find(id, caller.pid)?;
    scheduler_role(&session)?;
    if lease_ids.len() > LEASES_PER_SESSION {
        let count = lease_ids.len();
        return Err(Refusal::limit(format!(
            "the call has {count} leases: at most {LEASES_PER_SESSION} are allowed"
        )));
    }
    Ok(session)
}

fn scheduler_role(session: &Session) -> Answer<&SchedulerRole> {
    match &session.peer.role {
        Role::Scheduler(role) => Ok(role),
        Role::Worker { .. } => Err(Refusal::precondition(
            "a worker's session has no leases: a scheduler side's has",
        )),
    }
}

/// What the session's engine has in common; None while it is incomplete.
pub(super) fn joined(session: &Session) -> Answer<Option<Joined>> {
    match &*session.engine.borrow() {
        EngineState::Incomplete => Ok(None),
        EngineState::Complete(joined) => Ok(Some(*joined)),
        EngineState::Refused(why) => Err(Error::new(ErrorKind::Conflict, &**why).into()),
    }
}
