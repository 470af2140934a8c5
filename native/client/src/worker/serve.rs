//! A worker's part of keeping a session: registers, and ends well.

use std::sync::Arc;
use std::time::Duration;

use pegaflow_proto::v1::AttachRequest;
use tokio::time::{sleep, timeout};

use super::config::EngineIdentity;
use super::registration::Registration;
use super::ring::Ring;
use super::state::Shared;
use super::transfer::Outcome;
use crate::error::{ClientError, ClientErrorKind, Result};
use crate::session::{Role, Session};

/// How long a client that is closed waits for batches that are being copied.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);

/// One session of a worker, for as long as its engine's identity is the same.
pub(super) struct WorkerRole {
    pub(super) shared: Arc<Shared>,
    pub(super) identity: EngineIdentity,
}

impl Role for WorkerRole {
    async fn attach_request(&self) -> AttachRequest {
        self.shared.config.attach_request(&self.identity)
    }

    async fn opened(&self, session: &Arc<Session>) -> Result<()> {
        let ring = self.ring(session.ring_below());
        let config = &self.shared.config;
        let request = config.register_request(session.id(), &self.identity, ring.as_deref());
        let registration = Registration::new(session, request, ring).await?;
        let mut state = self.shared.lock();
        if !registration.uses_ring() {
            state.ring = None;
        }
        state.registration = Some(Arc::new(registration));
        state.last_error = None;
        state.attaches += 1;
        Ok(())
    }

    async fn serve(&self, _session: &Arc<Session>) {
        std::future::pending().await
    }

    fn closed(&self) {
        self.shared.lock().registration = None;
    }

    fn failed(&self, error: &ClientError) {
        if error.kind() == ClientErrorKind::Unreachable {
            tracing::debug!(%error, "cannot attach");
            return;
        }
        let mut state = self.shared.lock();
        if state.last_error.as_deref() != Some(error.message()) {
            tracing::warn!(%error, "this worker is not registered; serving without the cache");
            state.last_error = Some(error.message().to_owned());
        }
    }
}

impl WorkerRole {
    /// The ring, which is made when a daemon asks for one; None where there is none to make, or no room for it.
    fn ring(&self, below: u64) -> Option<Arc<Ring>> {
        let made = self.shared.lock().ring.clone();
        if made.is_some() || below == 0 {
            return made;
        }
        let made = self.shared.config.layout.ring(below);
        let ring = made.unwrap_or_else(|error| {
            tracing::warn!(%error, "this worker's blocks are copied without a ring");
            None
        })?;
        self.shared.lock().ring = Some(Arc::clone(&ring));
        Some(ring)
    }
}

/// Keeps a session for whichever engine the worker is told to be of.
pub(super) async fn keep_registered(shared: Arc<Shared>) {
    let mut identities = shared.identity.subscribe();
    loop {
        let identity = *identities.borrow_and_update();
        let Some(identity) = identity else {
            if identities.changed().await.is_err() {
                return;
            }
            continue;
        };
        let role = WorkerRole {
            shared: Arc::clone(&shared),
            identity,
        };
        tokio::select! {
            () = crate::session::keep_attached(&role, &shared.config.socket) => {}
            _ = identities.changed() => {}
        }
        role.closed();
    }
}

/// Takes every grant back, and waits a while for batches that are being copied.
pub(super) async fn revoke_all(shared: &Shared) {
    let closed = Outcome::failed("the engine closed the client");
    let revoked = async {
        let active = shared.lock().transfers.active_ids();
        for id in active {
            while !shared.lock().transfers.revoke(id, &closed) {
                sleep(Duration::from_millis(1)).await;
            }
        }
    };
    if timeout(CLOSE_PATIENCE, revoked).await.is_err() {
        tracing::warn!("closed while the daemon was still copying into this engine's blocks");
    }
}
