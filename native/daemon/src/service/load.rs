//! `Load`: leased blocks into a worker's memory.

use std::sync::Arc;

use pegaflow_core::error::{ErrorKind, Result};
use pegaflow_core::lease::{LeaseId, LoadPass};
use pegaflow_core::pause;
use pegaflow_proto::limits::BLOCKS_PER_TRANSFER;
use pegaflow_proto::v1::load_response::Outcome;
use pegaflow_proto::v1::{LoadRequest, LoadResponse};

use super::caller::Caller;
use super::check;
use super::lookup::joined;
use super::refusal::Answer;
use super::save::worker_role;
use crate::daemon::Daemon;
use crate::otlp::OpenSpan;
use crate::session::{Registration, Session};
use crate::telemetry::{Direction, InFlight};
use crate::transfer::{BegunLoad, Grant, LoadEnd, LoadJob};

pub(super) async fn load(daemon: &Arc<Daemon>, caller: Caller, request: LoadRequest) -> Answer<LoadResponse> {
    let session = daemon.sessions.find(request.session_id, caller.pid)?;
    let mut span = daemon
        .spans
        .begin("pegaflow.load", &session.peer.engine_id, &request.request_id);
    let (_, shard) = worker_role(&session)?;
    let registration = daemon.sessions.registration(&session, request.registration_id)?;
    if request.in_ring && request.block_ids.is_empty() {
        // The rank has loaded all that it wants of the lease.
        drop(begin(daemon, &session, &request)?);
        return Ok(answer(daemon, Outcome::Loaded, 0, String::new()));
    }
    let grant = Grant::of(request.grant, &registration)?;
    let point = match request.point {
        // A slot is named only when nothing uses it.
        None if request.in_ring => None,
        point => check::point(point, &registration)?,
    };
    check::block_ids(
        &request.block_ids,
        &registration,
        request.in_ring,
        BLOCKS_PER_TRANSFER,
    )?;
    // The last check: it uses the lease up, and a call that is refused must not.
    let pass = begin(daemon, &session, &request)?;

    let blocks = request.block_ids.len();
    let loads = &daemon.metrics.loads;
    let mut in_flight = loads.begin(blocks, &session.traffic, Direction::Load);
    let Some(pass) = pass else {
        in_flight.count("lease_ended", request.block_ids.len() as u64);
        let message = format!("lease {} has ended", request.lease_id);
        tracing::warn!(request = request.request_id, "a load failed: {message}");
        return Ok(answer(daemon, Outcome::LeaseEnded, 0, message));
    };
    let job = LoadJob {
        request_id: request.request_id,
        registration: Arc::clone(&registration),
        pass: Arc::new(pass),
        shard,
        block_ids: request.block_ids,
        in_ring: request.in_ring,
        grant,
    };
    let request = job.request_id.clone();
    let end = run(daemon, &registration, point, job, in_flight)
        .await
        .inspect_err(|error| tracing::warn!(request, "a load failed: {error}"));
    if let Some(span) = &mut span {
        trace(span, blocks as u64, &end);
    }
    Ok(match end {
        Ok(LoadEnd::Loaded { bytes }) => answer(daemon, Outcome::Loaded, bytes, String::new()),
        Ok(LoadEnd::Revoked) => answer(
            daemon,
            Outcome::Revoked,
            0,
            "the engine revoked the grant".to_owned(),
        ),
        Err(error) => answer(daemon, Outcome::Failed, 0, error.message().to_owned()),
    })
}

fn trace(span: &mut OpenSpan, blocks: u64, end: &Result<LoadEnd>) {
    span.count(&[("blocks", blocks)]);
    match end {
        Ok(LoadEnd::Loaded { bytes }) => {
            span.count(&[("bytes", *bytes)]);
            span.outcome("loaded");
            span.ok();
        }
        Ok(LoadEnd::Revoked) => {
            span.outcome("revoked");
            span.ok();
        }
        Err(error) => span.fail(error.message()),
    }
}

/// Runs the load once the engine's stream has come to the point: at once what is short, since a thread that sleeps takes as long to
/// begin as some blocks take to be copied.
async fn run(
    daemon: &Daemon,
    registration: &Arc<Registration>,
    point: Option<u32>,
    job: LoadJob,
    in_flight: InFlight,
) -> Result<LoadEnd> {
    let patience = registration.patience(job.block_ids.len());
    let has_passed = |point| registration.copies.has_passed(point);
    // Without patience the memory is the host's, whose copies end within their call.
    if !patience.is_zero()
        && point.map_or(Ok(true), has_passed)?
        && let Some(copies) = job.begin()?
    {
        let begun = BegunLoad {
            copies,
            job,
            in_flight,
        };
        return daemon.loads.finish(begun, patience).await;
    }
    let lanes = daemon.lanes.clone();
    let end = daemon
        .loads
        .run_at(registration, point, move || job.run(&lanes, in_flight));
    pause::awake(end, patience, || true).await
}

fn answer(daemon: &Daemon, outcome: Outcome, bytes: u64, message: String) -> LoadResponse {
    LoadResponse {
        boot_id: daemon.boot.id,
        outcome: outcome.into(),
        bytes,
        message,
    }
}

/// Begins the rank's load; None for a lease that has ended, or is another engine's or daemon's.
fn begin(daemon: &Daemon, session: &Session, request: &LoadRequest) -> Answer<Option<LoadPass>> {
    let (rank, _) = worker_role(session)?;
    let lease = LeaseId(request.lease_id);
    let is_own = joined(session)?.is_some_and(|joined| daemon.leases.owner(lease) == Some(joined.scheduler));
    if request.lease_boot_id != daemon.boot.id || !is_own {
        return Ok(None);
    }
    let count = u32::try_from(request.block_ids.len()).unwrap_or(u32::MAX);
    match daemon
        .leases
        .begin_load(lease, rank, request.first, count, request.has_more)
    {
        Ok(pass) => Ok(Some(pass)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}
