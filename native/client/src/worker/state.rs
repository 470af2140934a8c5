//! What callers and the background thread share.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;

use super::config::{EngineIdentity, WorkerConfig};
use super::registration::Registration;
use super::ring::Ring;
use super::transfer::Transfers;

/// A client's shared half.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: WorkerConfig,
    /// A transfer without an answer is revoked after this.
    pub(super) deadline: Duration,
    pub(super) identity: watch::Sender<Option<EngineIdentity>>,
    state: Mutex<State>,
}

/// Everything else that changes, under one lock.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) registration: Option<Arc<Registration>>,
    pub(super) last_error: Option<String>,
    pub(super) attaches: u64,
    pub(super) transfers: Transfers,
    /// Kept for as long as daemons use it.
    pub(super) ring: Option<Arc<Ring>>,
}

impl Shared {
    pub(super) fn new(config: WorkerConfig, deadline: Duration) -> Self {
        Self {
            config,
            deadline,
            identity: watch::Sender::new(None),
            state: Mutex::default(),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}
