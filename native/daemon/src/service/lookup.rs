//! `Lookup`, `Release` and `Renew`: the scheduler side's calls.

use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use pegaflow_core::count::counted;
use pegaflow_core::error::{Error, ErrorKind};
use pegaflow_core::lease::LeaseId;
use pegaflow_core::store::{Found, PendingLookup, TierHits};
use pegaflow_proto::limits::{HASHES_PER_CALL, LEASES_PER_SESSION};
use pegaflow_proto::v1::lookup_response::State;
use pegaflow_proto::v1::{
    LookupRequest, LookupResponse, ReleaseRequest, ReleaseResponse, RenewRequest, RenewResponse,
};
use tokio::time::timeout;

use super::caller::Caller;
use super::check;
use super::refusal::{Answer, Refusal};
use crate::daemon::Daemon;
use crate::events::{EventKind, EventLevel};
use crate::recording::Asked;
use crate::session::{EngineState, Joined, Role, SchedulerRole, Session};
use crate::telemetry::{BlockCounts, label};

/// How long the first call waits for blocks from slower tiers before it says "ask again": an engine's scheduler waits for it.
const FIRST_WAIT: Duration = Duration::from_millis(3);
/// How long each later call does, which only the client's own thread waits for.
const NEXT_WAIT: Duration = Duration::from_millis(20);

pub(super) async fn lookup(
    daemon: &Daemon,
    caller: Caller,
    request: LookupRequest,
) -> Answer<LookupResponse> {
    let session = daemon.sessions.find(request.session_id, caller.pid)?;
    let mut span = daemon
        .spans
        .begin("pegaflow.lookup", &session.peer.engine_id, &request.request_id);
    let role = scheduler_role(&session)?;
    let Some(joined) = joined(&session)? else {
        return Ok(answer(
            daemon,
            State::EngineIncomplete,
            &BlockCounts::default(),
            0,
        ));
    };
    check::group(request.group, &joined)?;
    let requested = check::hash_count(&request.hashes, request.hash_bytes, &joined, HASHES_PER_CALL)?;

    let began = Instant::now();
    let earlier = daemon
        .pending
        .take(session.id, request.lookup_id, &request.hashes);
    let wait = if earlier.is_some() { NEXT_WAIT } else { FIRST_WAIT };
    let found = match earlier {
        Some(lookup) => Found::Pending(lookup),
        None => look_up(daemon, &joined, &request)?,
    };
    daemon.metrics.lookup_duration.observe(began.elapsed());
    let hits = match found {
        Found::Ready(hits) => hits,
        Found::Pending(lookup) => match wait_for(daemon, &session, &request, lookup, wait).await {
            Some(hits) => hits,
            None => {
                if let Some(span) = &mut span {
                    span.outcome("pending");
                    span.ok();
                }
                return Ok(answer(daemon, State::Pending, &BlockCounts::default(), 0));
            }
        },
    };
    let blocks = BlockCounts {
        memory: hits.hits.len().saturating_sub(hits.ssd_blocks) as u64,
        ssd: hits.ssd_blocks as u64,
        miss: requested.saturating_sub(hits.hits.len()) as u64,
        ..BlockCounts::default()
    };
    count(daemon, role, &joined, &request, &blocks)?;
    let lease_id = if hits.hits.is_empty() {
        0
    } else {
        let now = Instant::now();
        daemon.leases.grant(session.id, hits.hits, joined.workers, now)?.0
    };
    daemon.recording.record(|| {
        daemon.store.block_bytes(joined.space).map(|block_bytes| Asked {
            time_ms: UNIX_EPOCH.elapsed().unwrap_or_default().as_millis() as u64,
            namespace: label(&role.namespace),
            group: request.group,
            block_bytes,
            memory: blocks.memory,
            ssd: blocks.ssd,
            hashes: request.hashes.clone(),
            hash_bytes: request.hash_bytes as usize,
        })
    })?;
    if let Some(span) = &mut span {
        span.count(&[
            ("blocks", requested as u64),
            ("memory", blocks.memory),
            ("ssd", blocks.ssd),
            ("miss", blocks.miss),
        ]);
        span.outcome("ready");
        span.ok();
    }
    tracing::debug!(request = request.request_id, ?blocks, lease_id, "lookup");
    Ok(answer(daemon, State::Ready, &blocks, lease_id))
}

/// Counts a lookup that is over.
fn count(
    daemon: &Daemon,
    role: &SchedulerRole,
    joined: &Joined,
    request: &LookupRequest,
    blocks: &BlockCounts,
) -> Answer<()> {
    let metrics = &daemon.metrics;
    metrics.blocks.add(&role.namespace, blocks);
    let hashes = request.hashes.chunks_exact(request.hash_bytes as usize);
    let found = blocks.requested() - blocks.miss;
    metrics.prefixes.see(&role.namespace, hashes, found);
    if let Some(block_ns) = request.block_compute_ns {
        let block_bytes = daemon.store.block_bytes(joined.space)?;
        metrics
            .recompute
            .told(Duration::from_nanos(block_ns), block_bytes);
    }
    Ok(())
}

/// What there is; an engine that cannot ask again gets what is in memory.
fn look_up(daemon: &Daemon, joined: &Joined, request: &LookupRequest) -> Answer<Found> {
    let (store, hashes) = (&daemon.store, &request.hashes);
    if request.lookup_id == 0 {
        let hits = store.lookup(joined.space, hashes)?;
        return Ok(Found::Ready(TierHits { hits, ssd_blocks: 0 }));
    }
    let compute = request.block_compute_ns.map(Duration::from_nanos);
    Ok(store.lookup_tiers(joined.space, hashes, compute)?)
}

/// Waits for a while; None when the engine has to ask again.
async fn wait_for(
    daemon: &Daemon,
    session: &Session,
    request: &LookupRequest,
    mut lookup: PendingLookup,
    wait: Duration,
) -> Option<TierHits> {
    let has_all = timeout(wait, &mut lookup).await.is_ok();
    if has_all || lookup.is_overdue(Instant::now()) {
        daemon.metrics.fetch_duration.observe(lookup.began().elapsed());
        return Some(lookup.finish());
    }
    let hashes = request.hashes.clone();
    daemon.pending.put(session.id, request.lookup_id, hashes, lookup);
    if session.has_ended() {
        daemon.pending.end_owner(session.id);
    }
    None
}

fn answer(daemon: &Daemon, state: State, blocks: &BlockCounts, lease_id: u64) -> LookupResponse {
    let count = |blocks| u32::try_from(blocks).unwrap_or(u32::MAX);
    LookupResponse {
        boot_id: daemon.boot.id,
        state: state.into(),
        memory_blocks: count(blocks.memory),
        ssd_blocks: count(blocks.ssd),
        remote_blocks: count(blocks.remote),
        lease_id,
    }
}

pub(super) fn release(daemon: &Daemon, caller: Caller, request: &ReleaseRequest) -> Answer<ReleaseResponse> {
    let session = lease_owner(daemon, caller, request.session_id, &request.lease_ids)?;
    for &id in &request.lookup_ids {
        daemon.pending.end(session.id, id);
    }
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
    tell_openings(daemon, &session, request.breaker_openings);
    let now = Instant::now();
    let mut unknown = request.lease_ids;
    unknown.retain(|&id| !daemon.leases.renew(session.id, LeaseId(id), now));
    Ok(RenewResponse {
        boot_id: daemon.boot.id,
        unknown,
    })
}

/// Tells operators that an engine went without the cache for a time.
fn tell_openings(daemon: &Daemon, session: &Session, openings: u32) {
    if openings == 0 {
        return;
    }
    daemon.metrics.breaker_openings.inc_by(openings.into());
    let engine = &session.peer.engine_id;
    let text = format!(
        "engine {engine} went without the cache {}: its lookups were not answered",
        counted(openings.into(), "time")
    );
    daemon
        .events
        .add(EventKind::Engine, EventLevel::Warning, Some(engine), text);
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
