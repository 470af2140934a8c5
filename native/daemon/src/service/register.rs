//! `Register`: a worker's memory.

use std::os::unix::fs::chown;
use std::sync::Arc;

use pegaflow_core::copy::{CopyEngine, HostCopyEngine, SavePage};
use pegaflow_core::error::{Error, Result};
use pegaflow_core::grant::GrantFile;
use pegaflow_core::layout::{BlockLayout, LayerLayout, Segment};
use pegaflow_proto::limits::{HASH_BYTES_MAX, HASH_BYTES_MIN};
use pegaflow_proto::v1::register_request::Memory;
use pegaflow_proto::v1::{GroupLayout, RegisterRequest, RegisterResponse};
use rustix::process::geteuid;

use super::caller::Caller;
use super::check;
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
    let Some(Memory::Host(_)) = request.memory else {
        return Err(Refusal::invalid("memory is missing: host is allowed"));
    };
    let layout = block_layout(group.num_blocks, group.layers)?;
    check_page(daemon, &layout)?;
    let geometry = Registration::geometry_of(&layout);
    let num_blocks = layout.num_blocks();
    let engine = HostCopyEngine::new(
        Arc::clone(&session.peer.process),
        layout,
        Arc::clone(&daemon.copy_threads),
    );
    let copies: Box<dyn CopyEngine> = daemon.saves.run(move || probe(engine, num_blocks)).await?;

    let id = daemon.sessions.new_id();
    let registration = Arc::new(Registration {
        id,
        namespace: check::fixed("namespace", &request.namespace)?,
        hash_bytes: check::range("hash_bytes", request.hash_bytes, HASH_BYTES_MIN, HASH_BYTES_MAX)?,
        group: group.group,
        num_blocks,
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
    })
}

fn block_layout(num_blocks: u32, layers: Vec<pegaflow_proto::v1::LayerLayout>) -> Result<BlockLayout> {
    let layers: Vec<LayerLayout> = layers
        .into_iter()
        .map(|layer| LayerLayout {
            name: layer.name,
            base_address: layer.base_address,
            block_stride: layer.block_stride,
            segments: layer
                .segments
                .into_iter()
                .map(|segment| Segment {
                    offset: segment.offset,
                    length: segment.length,
                })
                .collect(),
        })
        .collect();
    BlockLayout::new(num_blocks, &layers)
}

fn check_page(daemon: &Daemon, layout: &BlockLayout) -> Answer<()> {
    let most = daemon.store.snapshot().pool.slab_bytes;
    if layout.page_bytes() <= most {
        return Ok(());
    }
    Err(Refusal::limit(format!(
        "a block has {} bytes in this worker: at most {most} are allowed, use a smaller block size",
        layout.page_bytes()
    )))
}

/// Reads the first and the last block: memory that cannot be reached is refused now, not at the first save.
fn probe(engine: HostCopyEngine, num_blocks: u32) -> Result<Box<dyn CopyEngine>> {
    let mut page = vec![0; usize::try_from(engine.page_bytes()).unwrap_or(usize::MAX)];
    for block in [0, num_blocks - 1] {
        engine.read(&[SavePage::from_bytes(block, &mut page)])?;
    }
    Ok(Box::new(engine))
}

/// The file belongs to the engine's user: a daemon of root serves others too.
fn grant_file(daemon: &Daemon, session: &Session, id: u64) -> Result<GrantFile> {
    let path = grants_directory(&daemon.config.socket).join(id.to_string());
    let file = GrantFile::create(&path, GRANT_SLOTS, daemon.boot.id)?;
    let uid = session.peer.uid;
    if uid != geteuid().as_raw() {
        chown(&path, Some(uid), None)
            .map_err(|error| Error::io(format_args!("give {} to user {uid}", path.display()), error))?;
    }
    Ok(file)
}
