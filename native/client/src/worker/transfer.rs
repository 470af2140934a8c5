//! Transfers under way, and their ends.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pegaflow_core::cuda::StreamPoint;
use pegaflow_core::grant::{IssuedGrant, Revoke};
use tokio::sync::Notify;
use tonic::Status;

use super::registration::Registration;
use super::ring::RingTransfer;
use crate::error::ClientErrorKind;
use crate::session::refused;

/// Which way a transfer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferKind {
    /// Engine to cache.
    Save,
    /// Cache to engine.
    Load,
}

/// The end of one transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferEnd {
    /// The transfer.
    pub transfer_id: u64,
    /// The request that it was for.
    pub request_id: String,
    /// Which way it went.
    pub kind: TransferKind,
    /// Load: all bytes are in place. Save: the answer came and nothing was revoked.
    pub ok: bool,
    /// Blocks that it named.
    pub blocks: u32,
    /// Bytes that the daemon copied.
    pub bytes: u64,
    /// From its start to its end.
    pub elapsed: Duration,
    /// Why, where it is not ok.
    pub message: String,
    /// Nobody answered: the daemon that it was for ended, or cut the connection off.
    pub lost: bool,
}

/// How a transfer went.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    pub(super) ok: bool,
    pub(super) bytes: u64,
    pub(super) message: String,
    pub(super) lost: bool,
}

impl Outcome {
    pub(super) fn failed(message: impl Into<String>) -> Self {
        Self {
            ok: false,
            bytes: 0,
            message: message.into(),
            lost: false,
        }
    }

    /// There is nobody any more who could answer.
    pub(super) fn lost(message: impl Into<String>) -> Self {
        Self {
            lost: true,
            ..Self::failed(message)
        }
    }
}

impl From<String> for Outcome {
    fn from(message: String) -> Self {
        Self::failed(message)
    }
}

impl From<Status> for Outcome {
    fn from(status: Status) -> Self {
        let error = refused(status);
        match error.kind() {
            ClientErrorKind::Unreachable => Self::lost(error.message()),
            _ => Self::failed(error.message()),
        }
    }
}

/// What a transfer was asked to do.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) request_id: String,
    pub(super) kind: TransferKind,
    pub(super) blocks: u32,
    /// What it waits for; recorded again only when the transfer has ended.
    pub(super) point: Option<Arc<StreamPoint>>,
}

/// What says whether somebody can still touch a transfer's blocks.
#[derive(Debug)]
pub(super) enum Fence {
    /// The daemon touches them, with this leave.
    Grant(IssuedGrant),
    /// Kernels of this process do.
    Ring(Arc<RingTransfer>),
}

#[derive(Debug)]
struct Active {
    transfer: Transfer,
    started: Instant,
    fence: Fence,
    registration: Arc<Registration>,
    /// The caller revoked it while a batch was being copied.
    revoked: Arc<Notify>,
}

/// All transfers of a worker. **A transfer leaves `active` once, and only when nobody can touch its blocks any more.**
#[derive(Debug, Default)]
pub(super) struct Transfers {
    active: HashMap<u64, Active>,
    ended: Vec<TransferEnd>,
    last_id: u64,
    counters: Counters,
}

/// Monotonic counts.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) saves: u64,
    pub(super) saves_failed: u64,
    pub(super) saves_skipped: u64,
    pub(super) saved_bytes: u64,
    pub(super) loads: u64,
    pub(super) loads_failed: u64,
    pub(super) loaded_bytes: u64,
    pub(super) revokes: u64,
}

impl Transfers {
    /// Begins a transfer; its number, and what says that the caller revoked it.
    pub(super) fn begin(
        &mut self,
        transfer: Transfer,
        fence: Fence,
        registration: Arc<Registration>,
    ) -> (u64, Arc<Notify>) {
        let id = self.next_id();
        self.count_start(transfer.kind);
        let revoked = Arc::new(Notify::new());
        let active = Active {
            transfer,
            started: Instant::now(),
            fence,
            registration,
            revoked: Arc::clone(&revoked),
        };
        self.active.insert(id, active);
        (id, revoked)
    }

    /// A transfer that could not begin.
    pub(super) fn begin_failed(&mut self, transfer: Transfer, outcome: Outcome) -> u64 {
        let id = self.next_id();
        self.count_start(transfer.kind);
        self.push_end(id, transfer, Duration::ZERO, outcome);
        id
    }

    /// A save that there was nobody to offer to.
    pub(super) fn skip_save(&mut self) {
        self.counters.saves_skipped += 1;
    }

    /// The daemon answered: its copies have ended.
    pub(super) fn answered(&mut self, id: u64, outcome: Outcome) {
        if let Some(active) = self.active.remove(&id) {
            self.end(id, active, outcome);
        }
    }

    /// Takes the grant back, again and again if need be; true once the transfer has ended.
    pub(super) fn revoke(&mut self, id: u64, outcome: &Outcome) -> bool {
        let Some(active) = self.active.get(&id) else {
            return true;
        };
        let is_free = match &active.fence {
            Fence::Ring(ring) => ring.revoke(),
            Fence::Grant(grant) => match (grant.revoke(), active.transfer.kind) {
                (Ok(Revoke::Free), _) => true,
                // The daemon only reads, and seals nothing that it read after the revoke.
                (Ok(Revoke::Taken), TransferKind::Save) => true,
                // A process that cannot be looked at counts as living.
                (Ok(Revoke::Taken) | Err(_), _) => {
                    active.registration.session.daemon().has_ended().unwrap_or(false)
                }
            },
        };
        if is_free && let Some(active) = self.active.remove(&id) {
            self.counters.revokes += 1;
            self.end(id, active, outcome.clone());
        }
        is_free
    }

    /// Tells the transfer's task that the caller waits for the end of a revoked transfer.
    pub(super) fn wake(&self, id: u64) {
        if let Some(active) = self.active.get(&id) {
            active.revoked.notify_one();
        }
    }

    /// The transfers under way.
    pub(super) fn active_ids(&self) -> Vec<u64> {
        self.active.keys().copied().collect()
    }

    /// How many transfers are under way.
    pub(super) fn in_flight(&self) -> usize {
        self.active.len()
    }

    /// How many of them have a kernel under way that spreads their bytes.
    pub(super) fn scattering(&self) -> usize {
        let is_scattering = |active: &&Active| match &active.fence {
            Fence::Ring(ring) => ring.is_scattering(),
            Fence::Grant(_) => false,
        };
        self.active.values().filter(is_scattering).count()
    }

    /// The ends since the last call.
    pub(super) fn take_ended(&mut self) -> Vec<TransferEnd> {
        mem::take(&mut self.ended)
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.counters
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn end(&mut self, id: u64, active: Active, outcome: Outcome) {
        // The parts of one by the ring have grants of their own.
        if let Fence::Grant(grant) = active.fence
            && let Err(error) = grant.settle()
        {
            tracing::warn!(%error, "a grant slot is lost until the next registration");
        }
        self.push_end(id, active.transfer, active.started.elapsed(), outcome);
    }

    fn push_end(&mut self, transfer_id: u64, transfer: Transfer, elapsed: Duration, outcome: Outcome) {
        let Transfer {
            request_id,
            kind,
            blocks,
            point,
        } = transfer;
        drop(point);
        let Outcome {
            ok,
            bytes,
            message,
            lost,
        } = outcome;
        let (failed, moved) = match kind {
            TransferKind::Save => (&mut self.counters.saves_failed, &mut self.counters.saved_bytes),
            TransferKind::Load => (&mut self.counters.loads_failed, &mut self.counters.loaded_bytes),
        };
        *failed += u64::from(!ok);
        *moved += bytes;
        self.ended.push(TransferEnd {
            transfer_id,
            request_id,
            kind,
            ok,
            blocks,
            bytes,
            elapsed,
            message,
            lost,
        });
    }

    fn count_start(&mut self, kind: TransferKind) {
        match kind {
            TransferKind::Save => self.counters.saves += 1,
            TransferKind::Load => self.counters.loads += 1,
        }
    }
}
