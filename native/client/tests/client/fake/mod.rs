//! A daemon that does what a test's script says.

mod service;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;
use pegaflow_core::grant::GrantFile;
use pegaflow_core::process::ProcessIdentity;
use pegaflow_proto::PROTOCOL_VERSION;
use pegaflow_proto::v1::session_event::Event;
use pegaflow_proto::v1::{
    AttachRequest, Draining, LoadRequest, LoadResponse, LookupRequest, LookupResponse, ProtocolVersion,
    RegisterRequest, SaveRequest, SaveResponse, SessionEvent, load_response, lookup_response,
};
use tokio::net::UnixListener;
use tokio::sync::{Notify, mpsc, watch};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::Status;
use tonic::transport::Server;

/// The boot id of a daemon whose script names none.
pub(crate) const BOOT: u64 = 0xB007;

pub(crate) type Answer<T> = Pin<Box<dyn Future<Output = Result<T, Status>> + Send>>;

pub(crate) type Call<Q, A> = Box<dyn Fn(Q) -> Answer<A> + Send + Sync>;

/// What the daemon answers; the defaults answer at once and hit nothing.
pub(crate) struct Script {
    pub(crate) boot_id: u64,
    pub(crate) lease_ttl_ms: u32,
    pub(crate) blocks_per_transfer: u32,
    pub(crate) version: ProtocolVersion,
    pub(crate) identity: Option<ProcessIdentity>,
    pub(crate) register: Call<RegisterRequest, ()>,
    pub(crate) lookup: Call<LookupRequest, LookupResponse>,
    pub(crate) save: Call<(Arc<GrantFile>, SaveRequest), SaveResponse>,
    pub(crate) load: Call<(Arc<GrantFile>, LoadRequest), LoadResponse>,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            boot_id: BOOT,
            lease_ttl_ms: 600_000,
            blocks_per_transfer: 16_384,
            version: PROTOCOL_VERSION,
            identity: None,
            register: Box::new(|_| answer(Ok(()))),
            lookup: Box::new(|_| answer(Ok(no_hits()))),
            save: Box::new(|(_, request)| answer(Ok(saved(&request)))),
            load: Box::new(|(_, request)| answer(Ok(loaded(&request)))),
        }
    }
}

pub(crate) fn no_hits() -> LookupResponse {
    LookupResponse {
        boot_id: BOOT,
        state: lookup_response::State::Ready.into(),
        ..Default::default()
    }
}

pub(crate) fn hits(memory_blocks: u32, lease_id: u64) -> LookupResponse {
    LookupResponse {
        memory_blocks,
        lease_id,
        ..no_hits()
    }
}

pub(crate) fn saved(request: &SaveRequest) -> SaveResponse {
    let saved = request.block_ids.len() as u32;
    SaveResponse {
        boot_id: BOOT,
        saved,
        bytes: u64::from(saved) * 100,
        ..Default::default()
    }
}

pub(crate) fn loaded(request: &LoadRequest) -> LoadResponse {
    let outcome = load_response::Outcome::Loaded.into();
    LoadResponse {
        boot_id: BOOT,
        outcome,
        bytes: request.block_ids.len() as u64 * 100,
        ..Default::default()
    }
}

/// An answer that is there at once.
pub(crate) fn answer<T: Send + 'static>(result: Result<T, Status>) -> Answer<T> {
    Box::pin(std::future::ready(result))
}

/// What the daemon has seen.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) attached: Vec<AttachRequest>,
    pub(crate) lookups: Vec<LookupRequest>,
    pub(crate) released: Vec<u64>,
    pub(crate) ended_lookups: Vec<u64>,
    pub(crate) renewed: Vec<u64>,
    pub(crate) probes: u64,
    /// As they were told.
    pub(crate) breaker_openings: u32,
    pub(crate) saves: Vec<SaveRequest>,
    pub(crate) loads: Vec<LoadRequest>,
    pub(crate) registrations: Vec<RegisterRequest>,
    /// Operations whose client went away.
    pub(crate) operations_left: u64,
    /// Leases that renewals are told have ended.
    pub(crate) ended_leases: Vec<u64>,
    events: HashMap<u64, mpsc::Sender<Result<SessionEvent, Status>>>,
    grants: HashMap<u64, Arc<GrantFile>>,
}

struct Shared {
    script: Script,
    seen: Mutex<Seen>,
    hangs: watch::Sender<bool>,
    grant_folder: PathBuf,
}

/// A serving daemon; dropped, its socket and connections are gone at once.
pub(crate) struct FakeDaemon {
    shared: Arc<Shared>,
    socket: PathBuf,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl FakeDaemon {
    pub(crate) fn start(socket: &Path, script: Script) -> Self {
        let grant_folder = socket.with_extension("grants");
        std::fs::create_dir_all(&grant_folder).unwrap();
        let shared = Arc::new(Shared {
            script,
            seen: Mutex::default(),
            hangs: watch::Sender::new(false),
            grant_folder,
        });
        let stop = Arc::new(Notify::new());
        let listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        let thread = std::thread::spawn({
            let (shared, stop) = (Arc::clone(&shared), Arc::clone(&stop));
            move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                runtime.block_on(async {
                    let incoming = UnixListenerStream::new(UnixListener::from_std(listener).unwrap());
                    let serving = Server::builder()
                        .add_service(service::engine(Arc::clone(&shared)))
                        .add_service(service::control(shared))
                        .serve_with_incoming(incoming);
                    tokio::select! {
                        result = serving => result.unwrap(),
                        () = stop.notified() => {}
                    }
                });
            }
        });
        Self {
            shared,
            socket: socket.to_owned(),
            stop,
            thread: Some(thread),
        }
    }

    pub(crate) fn seen<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        look(&mut self.shared.seen.lock())
    }

    /// Begins or ends a time in which no call is answered.
    pub(crate) fn hang(&self, hangs: bool) {
        self.shared.hangs.send_replace(hangs);
    }

    /// Tells every session that the daemon is stopping.
    pub(crate) fn drain(&self) {
        let event = SessionEvent {
            event: Some(Event::Draining(Draining {})),
        };
        self.seen(|seen| {
            for events in seen.events.values() {
                events.try_send(Ok(event.clone())).unwrap();
            }
        });
    }
}

impl Drop for FakeDaemon {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.socket));
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
