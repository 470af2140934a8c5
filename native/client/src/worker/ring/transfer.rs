//! One transfer by the ring: who may still touch what.
//!
//! The daemon touches slots only, each part of a transfer under a grant of its own. The blocks are touched by this process's
//! kernels alone, so a transfer's blocks are free as soon as no scatter is under way and none will begin, whatever the daemon does.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pegaflow_core::cuda::StreamPoint;
use pegaflow_core::grant::{IssuedGrant, Revoke};
use pegaflow_proto::v1;
use tokio::time::sleep;

use super::super::registration::Registration;
use super::Ring;

/// How often a word that the daemon has taken is read while its end is waited for.
const TAKEN_POLL: Duration = Duration::from_millis(1);

/// A save or load that goes by the ring, part by part.
#[derive(Debug)]
pub(in crate::worker) struct RingTransfer {
    pub(super) ring: Arc<Ring>,
    pub(super) registration: Arc<Registration>,
    /// Kernels begin when the stream has come to it; recorded again only when this is dropped.
    pub(super) after: Arc<StreamPoint>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    is_revoked: bool,
    scatters: usize,
    /// Of parts that have not been answered, by their slot in the grant file.
    grants: HashMap<u32, IssuedGrant>,
}

impl RingTransfer {
    /// Nothing is under way yet.
    pub(in crate::worker) fn new(
        ring: Arc<Ring>,
        registration: Arc<Registration>,
        after: Arc<StreamPoint>,
    ) -> Arc<Self> {
        Arc::new(Self {
            ring,
            registration,
            after,
            state: Mutex::default(),
        })
    }

    /// No scatter begins any more, and nothing that is collected from now on is sealed. True when the blocks are free.
    pub(in crate::worker) fn revoke(&self) -> bool {
        let mut state = self.state.lock();
        state.is_revoked = true;
        // What was not revoked could be sealed with bytes of another request; a daemon that has ended seals nothing.
        let are_revoked = state.grants.values().all(|grant| grant.revoke().is_ok());
        state.scatters == 0 && (are_revoked || self.has_daemon_ended())
    }

    /// Leave for the daemon to touch one part's slots.
    pub(super) fn issue(&self) -> Result<v1::Grant, String> {
        let mut state = self.state.lock();
        if state.is_revoked {
            return Err("the transfer was revoked".to_owned());
        }
        let grant = super::super::issue(&self.registration)?;
        let message = super::super::message_of(&grant);
        state.grants.insert(message.slot, grant);
        Ok(message)
    }

    /// The part was answered.
    pub(super) fn settle(&self, grant: &v1::Grant) {
        settle(self.take_back(grant));
    }

    /// Takes the leave back, for parts whose answer will not come; returns when the daemon has not the part's slots any more. It may
    /// go on reading them where `is_save`, and seals nothing.
    pub(super) async fn until_free(&self, grant: &v1::Grant, is_save: bool) {
        loop {
            let revoked = self.state.lock().grants.get(&grant.slot).map(IssuedGrant::revoke);
            match revoked {
                None | Some(Ok(Revoke::Free)) => break,
                Some(Ok(Revoke::Taken)) if is_save => break,
                _ if self.has_daemon_ended() => break,
                _ => sleep(TAKEN_POLL).await,
            }
        }
        self.settle(grant);
    }

    /// Whether blocks may be spread; [`end_scatter`](Self::end_scatter) has to follow where they may.
    pub(super) fn begin_scatter(&self) -> bool {
        let mut state = self.state.lock();
        if !state.is_revoked {
            state.scatters += 1;
        }
        !state.is_revoked
    }

    /// Whether a kernel spreads blocks, or is about to.
    pub(in crate::worker) fn is_scattering(&self) -> bool {
        self.state.lock().scatters > 0
    }

    /// The kernel has ended.
    pub(super) fn end_scatter(&self) {
        self.state.lock().scatters -= 1;
    }

    fn take_back(&self, grant: &v1::Grant) -> Option<IssuedGrant> {
        self.state.lock().grants.remove(&grant.slot)
    }

    /// A process that cannot be looked at counts as living.
    fn has_daemon_ended(&self) -> bool {
        self.registration.session.daemon().has_ended().unwrap_or(false)
    }
}

fn settle(grant: Option<IssuedGrant>) {
    if let Some(Err(error)) = grant.map(IssuedGrant::settle) {
        tracing::warn!(%error, "a grant slot is lost until the next registration");
    }
}
