//! A worker's registration with one daemon.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pegaflow_core::grant::GrantPool;
use pegaflow_proto::v1::RegisterRequest;
use rustix::io::Errno;
use rustix::process::{PTracer, Pid, set_ptracer};
use tokio::time::timeout;

use super::ring::{Ring, RingTransfer};
use super::transfer::Transfer;
use crate::error::{ClientError, ClientErrorKind, Result};
use crate::session::{Session, identity, of_core, overdue, refused};

const DEADLINE: Duration = Duration::from_secs(30);

/// What saves and loads name.
#[derive(Debug)]
pub(super) struct Registration {
    pub(super) session: Arc<Session>,
    pub(super) id: u64,
    pub(super) grants: Arc<GrantPool>,
    /// Of one block.
    pub(super) page_bytes: u64,
    /// By which its transfers go, where the daemon takes it.
    ring: Option<Arc<Ring>>,
}

impl Registration {
    /// Registers this process's memory, of which `ring` is what the request offers, and opens the grant file.
    pub(super) async fn new(
        session: &Arc<Session>,
        request: RegisterRequest,
        ring: Option<Arc<Ring>>,
    ) -> Result<Self> {
        allow_copies_by(session.daemon().identity().pid)?;
        let answer = timeout(DEADLINE, session.rpc().register(request))
            .await
            .map_err(|_| overdue("Register", DEADLINE))?
            .map_err(refused)?
            .into_inner();
        session.check_daemon(identity(answer.daemon.unwrap_or_default()))?;
        if answer.boot_id != session.boot_id() {
            return Err(ClientError::new(
                ClientErrorKind::Unreachable,
                "another daemon answered Register",
            ));
        }
        let grants = GrantPool::open(Path::new(&answer.grant_file), answer.grant_slots, answer.boot_id)
            .map_err(of_core)?;
        Ok(Self {
            session: Arc::clone(session),
            id: answer.registration_id,
            grants,
            page_bytes: answer.page_bytes,
            ring: ring.filter(|_| answer.uses_ring),
        })
    }

    /// Whether transfers go by the ring.
    pub(super) fn uses_ring(&self) -> bool {
        self.ring.is_some()
    }

    /// The way by the ring, for a transfer that may take it.
    pub(super) fn by_ring(self: &Arc<Self>, transfer: &Transfer) -> Option<Arc<RingTransfer>> {
        let (ring, point) = (self.ring.as_ref()?, transfer.point.as_ref()?);
        Some(RingTransfer::new(
            Arc::clone(ring),
            Arc::clone(self),
            Arc::clone(point),
        ))
    }
}

/// Under Yama only a process that this one names may read its memory.
fn allow_copies_by(daemon: u32) -> Result<()> {
    let Some(pid) = i32::try_from(daemon).ok().and_then(Pid::from_raw) else {
        return Ok(());
    };
    match set_ptracer(PTracer::ProcessID(pid)) {
        // A kernel without Yama knows no such call, and does not need it.
        Ok(()) | Err(Errno::INVAL) => Ok(()),
        Err(errno) => Err(ClientError::new(
            ClientErrorKind::Config,
            format!("cannot allow process {daemon} to copy blocks (PR_SET_PTRACER): {errno}"),
        )),
    }
}
