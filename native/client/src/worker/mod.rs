//! A worker's client: registration and transfers.

mod answer;
mod config;
mod follow;
mod registration;
mod ring;
mod serve;
mod state;
mod transfer;

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::MutexGuard;
use pegaflow_core::cuda::StreamPoint;
use pegaflow_core::grant::IssuedGrant;
use pegaflow_core::pause;
use pegaflow_proto::v1::{Grant, LoadRequest, SaveRequest};
use tonic::{Response, Status};

use self::answer::Answer;
use self::config::EngineIdentity;
use self::registration::Registration;
use self::state::{Shared, State};
use self::transfer::{Fence, Outcome, Transfer};
use crate::background::Background;
use crate::error::{ClientError, ClientErrorKind, Result};

pub use config::{EngineLayout, WorkerConfig};
pub use transfer::{TransferEnd, TransferKind};

#[cfg(test)]
mod tests;

const TRANSFER_DEADLINE: Duration = Duration::from_secs(30);

/// One worker's session: it connects, connects again and registers again by itself.
#[derive(Debug)]
pub struct WorkerClient {
    background: Background,
    shared: Arc<Shared>,
}

impl WorkerClient {
    /// Does nothing before [`identify`](Self::identify). A transfer without an answer is revoked after 30 s.
    pub fn new(config: WorkerConfig) -> Result<Self> {
        Self::with_deadline(config, TRANSFER_DEADLINE)
    }

    /// As [`new`](Self::new), with another deadline for transfers.
    pub fn with_deadline(config: WorkerConfig, deadline: Duration) -> Result<Self> {
        let shared = Arc::new(Shared::new(config, deadline));
        let role = Arc::clone(&shared);
        let background = Background::start("pega-worker", move |closing| async move {
            tokio::select! {
                () = serve::keep_registered(Arc::clone(&role)) => {}
                () = closing.notified() => {}
            }
            serve::revoke_all(&role).await;
        })?;
        Ok(Self { background, shared })
    }

    /// Tells which engine this worker is of; the first call starts to connect. The same values again change nothing.
    pub fn identify(&self, engine_key: [u8; 16], namespace: [u8; 32]) -> Result<()> {
        self.background.check_process()?;
        let identity = Some(EngineIdentity {
            engine_key,
            namespace,
        });
        self.shared.identity.send_if_modified(|current| {
            let is_new = *current != identity;
            *current = identity;
            is_new
        });
        Ok(())
    }

    /// The end of what is in this thread's stream now, for transfers that start after it; see [`EngineLayout::mark`].
    pub fn mark(&self, stream: u64) -> Result<Option<Arc<StreamPoint>>> {
        self.background.check_process()?;
        Ok(self.shared.config.layout.mark(stream)?.map(Arc::new))
    }

    /// Starts a save, of memory on a GPU once its stream has come to `point`; `None` when there is no daemon to save to, or no
    /// point to wait for: nothing to wait for.
    ///
    /// `after` has the hash of the block before each, for the first block of a prompt its own; empty where that is not known.
    pub fn save(
        &self,
        request_id: &str,
        hashes: Bytes,
        after: Bytes,
        block_ids: Vec<u32>,
        point: Option<Arc<StreamPoint>>,
    ) -> Result<Option<u64>> {
        self.background.check_process()?;
        let hash_bytes = self.shared.config.layout.hash_bytes();
        if hashes.len() != block_ids.len() * hash_bytes as usize {
            return Err(ClientError::new(
                ClientErrorKind::Config,
                format!(
                    "{} bytes of hashes for {} blocks: each block needs {hash_bytes}",
                    hashes.len(),
                    block_ids.len()
                ),
            ));
        }
        if !after.is_empty() && after.len() != hashes.len() {
            return Err(ClientError::new(
                ClientErrorKind::Config,
                format!(
                    "{} bytes of hashes that blocks follow, for {} blocks: each needs {hash_bytes}, or all none",
                    after.len(),
                    block_ids.len()
                ),
            ));
        }
        let mut state = self.shared.lock();
        let registration = state
            .registration
            .clone()
            .filter(|registration| !registration.session.is_draining())
            .filter(|_| self.is_in_order(point.as_deref()));
        let Some(registration) = registration else {
            state.transfers.skip_save();
            return Ok(None);
        };
        let mut request = SaveRequest {
            session_id: registration.session.id(),
            registration_id: registration.id,
            request_id: request_id.to_owned(),
            group: 0,
            hash_bytes,
            hashes,
            block_ids,
            grant: None,
            point: point.as_deref().map(StreamPoint::event),
            in_ring: false,
            after,
        };
        let transfer = Transfer {
            request_id: request_id.to_owned(),
            kind: TransferKind::Save,
            blocks: request.block_ids.len() as u32,
            point,
        };
        if let Some(ring) = registration.by_ring(&transfer) {
            let call = Arc::clone(&ring).save(request);
            return Ok(Some(self.follow(
                state,
                transfer,
                Fence::Ring(ring),
                registration,
                async { Ok(call.await) },
            )));
        }
        let Ok(grant) = issue(&registration) else {
            state.transfers.skip_save();
            return Ok(None);
        };
        request.grant = Some(message_of(&grant));
        let mut rpc = registration.session.rpc();
        let call = async move { rpc.save(request).await };
        Ok(Some(self.start(state, transfer, grant, registration, call)))
    }

    /// Starts a load of blocks `first..` of a lease, into memory on a GPU once its stream has come to `point`: what was queued
    /// before may still use the blocks. One that cannot start ends as failed at the next [`poll`](Self::poll).
    pub fn load(
        &self,
        request_id: &str,
        lease_id: u64,
        boot_id: u64,
        first: u32,
        block_ids: Vec<u32>,
        point: Option<Arc<StreamPoint>>,
    ) -> Result<u64> {
        self.background.check_process()?;
        let transfer = Transfer {
            request_id: request_id.to_owned(),
            kind: TransferKind::Load,
            blocks: block_ids.len() as u32,
            point: point.clone(),
        };
        let mut state = self.shared.lock();
        let Some(registration) = state.registration.clone() else {
            return Ok(state.transfers.begin_failed(
                transfer,
                Outcome::lost("this worker is not registered with a daemon"),
            ));
        };
        if boot_id != registration.session.boot_id() {
            return Ok(state.transfers.begin_failed(
                transfer,
                Outcome::lost("the daemon that gave the lease is no more"),
            ));
        }
        if !self.is_in_order(point.as_deref()) {
            return Ok(state.transfers.begin_failed(
                transfer,
                Outcome::failed("too many points of this worker's stream are in use"),
            ));
        }
        let mut request = LoadRequest {
            session_id: registration.session.id(),
            registration_id: registration.id,
            request_id: request_id.to_owned(),
            lease_id,
            lease_boot_id: boot_id,
            first,
            block_ids,
            grant: None,
            point: point.as_deref().map(StreamPoint::event),
            in_ring: false,
            has_more: false,
        };
        if let Some(ring) = registration.by_ring(&transfer) {
            let call = Arc::clone(&ring).load(request);
            return Ok(
                self.follow(state, transfer, Fence::Ring(ring), registration, async {
                    Ok(call.await)
                }),
            );
        }
        let grant = match issue(&registration) {
            Ok(grant) => grant,
            Err(message) => return Ok(state.transfers.begin_failed(transfer, message.into())),
        };
        request.grant = Some(message_of(&grant));
        let mut rpc = registration.session.rpc();
        let call = async move { rpc.load(request).await };
        Ok(self.start(state, transfer, grant, registration, call))
    }

    /// Makes the call of a transfer, and follows it to its end.
    fn start<A: Answer>(
        &self,
        state: MutexGuard<'_, State>,
        transfer: Transfer,
        grant: IssuedGrant,
        registration: Arc<Registration>,
        call: impl Future<Output = std::result::Result<Response<A>, Status>> + Send + 'static,
    ) -> u64 {
        let session = Arc::clone(&registration.session);
        let answered = async move {
            let answer = call
                .await
                .inspect_err(|status| session.observe_error(status))?
                .into_inner();
            session.observe_boot(answer.boot_id());
            Ok(answer.outcome())
        };
        self.follow(state, transfer, Fence::Grant(grant), registration, answered)
    }

    /// Follows a transfer to its end.
    fn follow(
        &self,
        mut state: MutexGuard<'_, State>,
        transfer: Transfer,
        fence: Fence,
        registration: Arc<Registration>,
        answered: impl Future<Output = std::result::Result<Outcome, Status>> + Send + 'static,
    ) -> u64 {
        let bytes = u64::from(transfer.blocks) * registration.page_bytes;
        // Where the GPU has something to end first, the answer may be far.
        let point = transfer.point.as_ref().map(Arc::downgrade);
        let is_near = move || {
            let point = point.as_ref().and_then(Weak::upgrade);
            point.is_some_and(|point| point.has_passed())
        };
        let (id, revoked) = state.transfers.begin(transfer, fence, registration);
        drop(state);
        self.background.spawn(follow::follow(
            Arc::clone(&self.shared),
            id,
            revoked,
            pause::awake(answered, pause::of_copies(bytes), is_near),
        ));
        id
    }

    /// Whether the daemon can tell when the blocks may be touched.
    fn is_in_order(&self, point: Option<&StreamPoint>) -> bool {
        point.is_some() || !self.shared.config.layout.has_points()
    }

    /// Takes the grant back. True: the blocks are free now. False: a copy is under way, its end comes in [`poll`](Self::poll).
    pub fn revoke(&self, transfer_id: u64) -> Result<bool> {
        self.background.check_process()?;
        let mut state = self.shared.lock();
        let is_free = state
            .transfers
            .revoke(transfer_id, &Outcome::failed("the engine revoked it"));
        if !is_free {
            state.transfers.wake(transfer_id);
        }
        Ok(is_free)
    }

    /// The transfers that ended since the last call: each once, and only when nobody can touch its blocks any more.
    pub fn poll(&self) -> Result<Vec<TransferEnd>> {
        self.background.check_process()?;
        Ok(self.shared.lock().transfers.take_ended())
    }

    /// Transfers that have not ended.
    pub fn in_flight(&self) -> Result<usize> {
        self.background.check_process()?;
        Ok(self.shared.lock().transfers.in_flight())
    }

    /// Whether the worker is registered.
    pub fn attached(&self) -> Result<bool> {
        self.background.check_process()?;
        Ok(self.shared.lock().registration.is_some())
    }

    /// Why the worker is not registered, when the daemon refused it.
    pub fn last_error(&self) -> Result<Option<String>> {
        self.background.check_process()?;
        Ok(self.shared.lock().last_error.clone())
    }

    /// Counts by name; `in_flight` and `scattering` (loads whose bytes a kernel spreads out of the ring) are gauges, the others
    /// only grow.
    pub fn counters(&self) -> Result<Vec<(&'static str, u64)>> {
        self.background.check_process()?;
        let state = self.shared.lock();
        let counters = state.transfers.counters();
        Ok(vec![
            ("saves", counters.saves),
            ("saves_failed", counters.saves_failed),
            ("saves_skipped", counters.saves_skipped),
            ("saved_bytes", counters.saved_bytes),
            ("loads", counters.loads),
            ("loads_failed", counters.loads_failed),
            ("loaded_bytes", counters.loaded_bytes),
            ("revokes", counters.revokes),
            ("attaches", state.attaches),
            ("in_flight", state.transfers.in_flight() as u64),
            ("scattering", state.transfers.scattering() as u64),
        ])
    }

    /// Revokes what is under way, waits up to 2 s for batches that are being copied, and ends the session.
    pub fn close(&self) -> Result<()> {
        self.background.check_process()?;
        self.background.close();
        self.shared.lock().registration = None;
        Ok(())
    }
}

fn issue(registration: &Registration) -> std::result::Result<IssuedGrant, String> {
    match registration.grants.issue() {
        Ok(Some(grant)) => Ok(grant),
        Ok(None) => Err("every grant slot is in use: too many transfers are under way".to_owned()),
        Err(error) => Err(error.message().to_owned()),
    }
}

fn message_of(grant: &IssuedGrant) -> Grant {
    Grant {
        slot: grant.slot(),
        generation: grant.generation(),
    }
}
