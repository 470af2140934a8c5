//! `Register`: a worker's memory.

use std::os::unix::fs::chown;
use std::sync::Arc;

use pegaflow_core::error::{Error, Result};
use pegaflow_core::grant::GrantFile;
use pegaflow_proto::limits::{HASH_BYTES_MAX, HASH_BYTES_MIN};
use pegaflow_proto::v1::{GroupLayout, RegisterRequest, RegisterResponse};
use rustix::process::geteuid;

use super::caller::Caller;
use super::check;
use super::memory::Memory;
use super::refusal::{Answer, Refusal};
use crate::daemon::Daemon;
use crate::session::{Registration, Role, Session};
use crate::socket::grants_directory;

/// Transfers that one worker can have under way.
const GRANT_SLOTS: u32 = 1_024;

pub(super) async fn register(
    daemon: &Arc<Daemon>,
    caller: Caller,
    request: RegisterRequest,
) -> Answer<RegisterResponse> {
    let session = daemon.sessions.find(request.session_id, caller.pid)?;
    if !matches!(session.peer.role, Role::Worker { .. }) {
        return Err(Refusal::precondition(
            "a scheduler side's session cannot register memory: a worker's can",
        ));
    }
    let [group] = <[GroupLayout; 1]>::try_from(request.groups)
        .map_err(|groups| Refusal::invalid(format!("groups has {} entries: 1 is allowed", groups.len())))?;
    let group_id = group.group;
    let memory = Memory::of(group, request.memory)?;
    let process = Arc::clone(&session.peer.process);
    let (threads, gpus) = (Arc::clone(&daemon.copy_threads), Arc::clone(&daemon.gpus));
    let most_bytes = daemon.store.pool_snapshot().slab_bytes;
    let copies = daemon
        .saves
        .run(move || memory.open(process, threads, &gpus, most_bytes))
        .await?;
    let geometry = Registration::geometry_of(copies.layout());
    let num_blocks = copies.layout().num_blocks();

    let id = daemon.sessions.new_id();
    let registration = Arc::new(Registration {
        id,
        namespace: check::fixed("namespace", &request.namespace)?,
        hash_bytes: check::range("hash_bytes", request.hash_bytes, HASH_BYTES_MIN, HASH_BYTES_MAX)?,
        group: group_id,
        geometry,
        copies,
        grants: grant_file(daemon, &session, id)?,
        session,
    });
    daemon.sessions.register(Arc::clone(&registration))?;
    tracing::info!(
        engine = registration.session.peer.engine_id,
        registration = id,
        blocks = num_blocks,
        page_bytes = geometry.page_bytes,
        "worker registered its memory"
    );
    Ok(RegisterResponse {
        boot_id: daemon.boot.id,
        daemon: Some(daemon.boot.process_message()),
        registration_id: id,
        page_bytes: geometry.page_bytes,
        grant_file: registration.grants.path().display().to_string(),
        grant_slots: registration.grants.slots(),
        uses_ring: registration.copies.ring().is_some(),
    })
}

/// The file belongs to the engine's user: a daemon of root serves others too.
fn grant_file(daemon: &Daemon, session: &Session, id: u64) -> Result<Arc<GrantFile>> {
    let path = grants_directory(&daemon.config.socket).join(id.to_string());
    let file = GrantFile::create(&path, GRANT_SLOTS, daemon.boot.id)?;
    let uid = session.peer.uid;
    if uid != geteuid().as_raw() {
        chown(&path, Some(uid), None)
            .map_err(|error| Error::io(format_args!("give {} to user {uid}", path.display()), error))?;
    }
    Ok(file)
}
