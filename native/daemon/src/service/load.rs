//! `Load`: leased blocks into a worker's memory.

use std::sync::Arc;

use pegaflow_core::error::ErrorKind;
use pegaflow_core::lease::{LeaseId, LoadPass};
use pegaflow_proto::limits::BLOCKS_PER_TRANSFER;
use pegaflow_proto::v1::load_response::Outcome;
use pegaflow_proto::v1::{LoadRequest, LoadResponse};

use super::caller::Caller;
use super::check;
use super::lookup::joined;
use super::refusal::Answer;
use super::save::worker_role;
use crate::daemon::Daemon;
use crate::session::Session;
use crate::transfer::{Grant, LoadEnd, LoadJob};

pub(super) async fn load(daemon: &Arc<Daemon>, caller: Caller, request: LoadRequest) -> Answer<LoadResponse> {
    let session = daemon.sessions.find(request.session_id, caller.pid)?;
    let (_, shard) = worker_role(&session)?;
    let registration = daemon.sessions.registration(&session, request.registration_id)?;
    let grant = Grant::of(request.grant, &registration)?;
    check::block_ids(&request.block_ids, &registration, BLOCKS_PER_TRANSFER)?;
    // The last check: it uses the lease up, and a call that is refused must not.
    let pass = begin(daemon, &session, &request)?;

    let metrics = daemon.metrics.loads.clone();
    let in_flight = metrics.begin();
    let blocks = request.block_ids.len() as u64;
    let (outcome, bytes, message) = match pass {
        None => (
            Outcome::LeaseEnded,
            0,
            format!("lease {} has ended", request.lease_id),
        ),
        Some(pass) => {
            let job = LoadJob {
                registration,
                pass,
                shard,
                block_ids: request.block_ids,
                grant,
            };
            match daemon.loads.run(move || job.run()).await {
                Ok(LoadEnd::Loaded { bytes }) => (Outcome::Loaded, bytes, String::new()),
                Ok(LoadEnd::Revoked) => (Outcome::Revoked, 0, "the engine revoked the grant".to_owned()),
                Err(error) => (Outcome::Failed, 0, error.message().to_owned()),
            }
        }
    };
    metrics.count_blocks(outcome_name(outcome), blocks);
    let request_id = request.request_id;
    match outcome {
        Outcome::Loaded => {
            let took = in_flight.succeed(blocks, bytes);
            tracing::debug!(request = request_id, blocks, ?took, "load");
        }
        Outcome::Revoked => {
            in_flight.fail();
            tracing::debug!(request = request_id, blocks, "a load was revoked");
        }
        Outcome::LeaseEnded | Outcome::Failed | Outcome::Unspecified => {
            in_flight.fail();
            tracing::warn!(request = request_id, blocks, "a load failed: {message}");
        }
    }
    Ok(LoadResponse {
        boot_id: daemon.boot.id,
        outcome: outcome.into(),
        bytes,
        message,
    })
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
    match daemon.leases.begin_load(lease, rank, request.first, count) {
        Ok(pass) => Ok(Some(pass)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Loaded => "loaded",
        Outcome::Revoked => "revoked",
        Outcome::LeaseEnded => "lease_ended",
        Outcome::Failed | Outcome::Unspecified => "failed",
    }
}
