//! A worker's registration with one daemon.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pegaflow_core::grant::GrantPool;
use pegaflow_proto::v1::RegisterRequest;
use rustix::io::Errno;
use rustix::process::{PTracer, Pid, set_ptracer};
use tokio::time::timeout;

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
}

impl Registration {
    /// Registers this process's memory, and opens the grant file.
    pub(super) async fn new(session: &Arc<Session>, request: RegisterRequest) -> Result<Self> {
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
        })
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
