//! `Save`: blocks out of a worker's memory into the cache.

use std::sync::Arc;
use std::time::Duration;

use pegaflow_core::pause;
use pegaflow_proto::limits::BLOCKS_PER_TRANSFER;
use pegaflow_proto::v1::{SaveRequest, SaveResponse};
use tokio::time::timeout;

use super::caller::Caller;
use super::check;
use super::lookup::joined;
use super::refusal::{Answer, Refusal};
use crate::daemon::Daemon;
use crate::session::{EngineState, Joined, Role, Session};
use crate::telemetry::Direction;
use crate::transfer::{Grant, SaveCounts, SaveJob};

/// How long a save waits for the engine's other workers to register.
const OTHER_WORKERS: Duration = Duration::from_secs(2);

pub(super) async fn save(daemon: &Arc<Daemon>, caller: Caller, request: SaveRequest) -> Answer<SaveResponse> {
    let session = daemon.sessions.find(request.session_id, caller.pid)?;
    let mut span = daemon
        .spans
        .begin("pegaflow.save", &session.peer.engine_id, &request.request_id);
    let (_, shard) = worker_role(&session)?;
    let registration = daemon.sessions.registration(&session, request.registration_id)?;
    let grant = Grant::of(request.grant, &registration)?;
    let point = check::point(request.point, &registration)?;
    check::block_ids(
        &request.block_ids,
        &registration,
        request.in_ring,
        BLOCKS_PER_TRANSFER,
    )?;
    let joined = complete(&session).await?;
    check::group(request.group, &joined)?;
    let hashes = check::hash_count(&request.hashes, request.hash_bytes, &joined, BLOCKS_PER_TRANSFER)?;
    if hashes != request.block_ids.len() {
        let ids = request.block_ids.len();
        return Err(Refusal::invalid(format!(
            "{hashes} hashes and {ids} block ids: one id for each hash is allowed"
        )));
    }
    check::after(&request.after, &request.hashes)?;

    let job = SaveJob {
        request_id: request.request_id,
        registration: Arc::clone(&registration),
        space: joined.space,
        shard,
        hashes: request.hashes,
        after: request.after,
        block_ids: request.block_ids,
        in_ring: request.in_ring,
        grant,
    };
    let saves = &daemon.metrics.saves;
    let in_flight = saves.begin(hashes, &session.traffic, Direction::Save);
    let (store, lanes) = (Arc::clone(&daemon.store), daemon.lanes.clone());
    let patience = registration.patience(job.block_ids.len());
    let counts = daemon.saves.run_at(&registration, point, move || {
        let request = job.request_id.clone();
        job.run(store, &lanes, in_flight)
            .inspect_err(|error| tracing::warn!(request, "a save failed: {error}"))
    });
    let counts = pause::awake(counts, patience, || true)
        .await
        .inspect_err(|error| {
            if let Some(span) = &mut span {
                span.fail(error.message());
            }
        })?;
    if let Some(span) = &mut span {
        span.count(&[
            ("blocks", hashes as u64),
            ("saved", counts.saved.into()),
            ("present", counts.present.into()),
            ("dropped", counts.dropped.into()),
            ("revoked", counts.revoked.into()),
            ("bytes", counts.bytes),
        ]);
        span.ok();
    }
    Ok(answer(daemon, &counts))
}

fn answer(daemon: &Daemon, counts: &SaveCounts) -> SaveResponse {
    SaveResponse {
        boot_id: daemon.boot.id,
        saved: counts.saved,
        present: counts.present,
        dropped: counts.dropped,
        revoked: counts.revoked,
        bytes: counts.bytes,
    }
}

/// The worker's rank and shard.
pub(super) fn worker_role(session: &Session) -> Answer<(u32, u32)> {
    match session.peer.role {
        Role::Worker { rank, shard } => Ok((rank, shard)),
        Role::Scheduler(_) => Err(Refusal::precondition(
            "a scheduler side's session has no memory: a worker's has",
        )),
    }
}

/// The engine, once all its workers have registered: the first step's saves may come before the last of them.
async fn complete(session: &Session) -> Answer<Joined> {
    let mut state = session.engine.clone();
    let settled = state.wait_for(|state| !matches!(state, EngineState::Incomplete));
    drop(timeout(OTHER_WORKERS, settled).await);
    joined(session)?
        .ok_or_else(|| Refusal::precondition("not all sessions of this engine are there: save again later"))
}
