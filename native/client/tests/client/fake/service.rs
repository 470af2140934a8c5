//! The engine service of a scripted daemon.

use std::sync::Arc;

use pegaflow_core::grant::GrantFile;
use pegaflow_core::process::ProcessIdentity;
use pegaflow_proto::v1::control_server::{Control, ControlServer};
use pegaflow_proto::v1::engine_server::{Engine, EngineServer};
use pegaflow_proto::v1::session_event::Event;
use pegaflow_proto::v1::{self, *};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::Shared;

const GRANT_SLOTS: u32 = 8;

pub(crate) fn engine(shared: Arc<Shared>) -> EngineServer<Service> {
    EngineServer::new(Service(shared)).max_decoding_message_size(pegaflow_proto::limits::MESSAGE_BYTES)
}

pub(crate) fn control(shared: Arc<Shared>) -> ControlServer<Service> {
    ControlServer::new(Service(shared))
}

pub(crate) struct Service(Arc<Shared>);

impl Service {
    fn daemon(&self) -> v1::ProcessIdentity {
        let identity = self
            .0
            .script
            .identity
            .unwrap_or_else(|| ProcessIdentity::of(std::process::id()).unwrap());
        v1::ProcessIdentity {
            pid: identity.pid,
            start_time_ticks: identity.start_time_ticks,
        }
    }

    async fn awake(&self) {
        self.0.hangs.subscribe().wait_for(|hangs| !hangs).await.unwrap();
    }

    fn check_session(&self, session_id: u64) -> Result<(), Status> {
        let known = self.0.seen.lock().events.contains_key(&session_id);
        if known {
            Ok(())
        } else {
            Err(Status::not_found(format!("session {session_id} is not known")))
        }
    }
}

#[tonic::async_trait]
impl Engine for Service {
    type AttachStream = ReceiverStream<Result<SessionEvent, Status>>;

    async fn attach(&self, request: Request<AttachRequest>) -> Result<Response<Self::AttachStream>, Status> {
        let (events, stream) = mpsc::channel(8);
        let mut seen = self.0.seen.lock();
        seen.attached.push(request.into_inner());
        let session_id = seen.attached.len() as u64;
        let opened = SessionOpened {
            boot_id: self.0.script.boot_id,
            session_id,
            version: Some(self.0.script.version),
            daemon: Some(self.daemon()),
            daemon_version: "test".to_owned(),
            lease_ttl_ms: self.0.script.lease_ttl_ms,
            limits: Some(Limits {
                hashes_per_call: 65_536,
                blocks_per_transfer: self.0.script.blocks_per_transfer,
                segments_per_block: 65_536,
                page_bytes: 1 << 30,
            }),
            ring_below_bytes: 0,
        };
        events
            .try_send(Ok(SessionEvent {
                event: Some(Event::Opened(opened)),
            }))
            .unwrap();
        seen.events.insert(session_id, events);
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn register(
        &self,
        request: Request<RegisterRequest>,
    ) -> Result<Response<RegisterResponse>, Status> {
        let request = request.into_inner();
        self.check_session(request.session_id)?;
        (self.0.script.register)(request.clone()).await?;
        let path = self.0.grant_folder.join(request.session_id.to_string());
        let grants = GrantFile::create(&path, GRANT_SLOTS, self.0.script.boot_id).unwrap();
        let registration_id = request.session_id;
        let mut seen = self.0.seen.lock();
        seen.grants.insert(registration_id, grants);
        seen.registrations.push(request);
        Ok(Response::new(RegisterResponse {
            boot_id: self.0.script.boot_id,
            daemon: Some(self.daemon()),
            registration_id,
            page_bytes: 4096,
            grant_file: path.to_str().unwrap().to_owned(),
            grant_slots: GRANT_SLOTS,
            uses_ring: false,
        }))
    }

    async fn lookup(&self, request: Request<LookupRequest>) -> Result<Response<LookupResponse>, Status> {
        let request = request.into_inner();
        self.check_session(request.session_id)?;
        self.0.seen.lock().lookups.push(request.clone());
        self.awake().await;
        (self.0.script.lookup)(request).await.map(Response::new)
    }

    async fn release(&self, request: Request<ReleaseRequest>) -> Result<Response<ReleaseResponse>, Status> {
        let request = request.into_inner();
        let released = request.lease_ids.len() as u32;
        self.awake().await;
        let mut seen = self.0.seen.lock();
        seen.released.extend(request.lease_ids);
        seen.ended_lookups.extend(request.lookup_ids);
        drop(seen);
        Ok(Response::new(ReleaseResponse {
            boot_id: self.0.script.boot_id,
            released,
        }))
    }

    async fn renew(&self, request: Request<RenewRequest>) -> Result<Response<RenewResponse>, Status> {
        let request = request.into_inner();
        self.check_session(request.session_id)?;
        self.awake().await;
        let mut seen = self.0.seen.lock();
        seen.probes += u64::from(request.lease_ids.is_empty());
        seen.breaker_openings += request.breaker_openings;
        seen.renewed.extend(&request.lease_ids);
        let unknown = request
            .lease_ids
            .into_iter()
            .filter(|id| seen.ended_leases.contains(id))
            .collect();
        Ok(Response::new(RenewResponse {
            boot_id: self.0.script.boot_id,
            unknown,
        }))
    }

    async fn save(&self, request: Request<SaveRequest>) -> Result<Response<SaveResponse>, Status> {
        let request = request.into_inner();
        let grants = {
            let mut seen = self.0.seen.lock();
            seen.saves.push(request.clone());
            seen.grants.get(&request.registration_id).cloned()
        };
        let grants = grants.ok_or_else(|| Status::not_found("no such registration"))?;
        self.awake().await;
        (self.0.script.save)((grants, request)).await.map(Response::new)
    }

    async fn load(&self, request: Request<LoadRequest>) -> Result<Response<LoadResponse>, Status> {
        let request = request.into_inner();
        let grants = {
            let mut seen = self.0.seen.lock();
            seen.loads.push(request.clone());
            seen.grants.get(&request.registration_id).cloned()
        };
        let grants = grants.ok_or_else(|| Status::not_found("no such registration"))?;
        self.awake().await;
        (self.0.script.load)((grants, request)).await.map(Response::new)
    }
}

#[tonic::async_trait]
impl Control for Service {
    type OperateStream = ReceiverStream<Result<OperateEvent, Status>>;

    async fn status(&self, _request: Request<StatusRequest>) -> Result<Response<StatusResponse>, Status> {
        self.awake().await;
        Ok(Response::new(StatusResponse {
            json: r#"{"ready": true}"#.into(),
        }))
    }

    /// Answers, and ends its whole process soon after; or, told to purge, refuses.
    async fn stop(&self, request: Request<StopRequest>) -> Result<Response<StopResponse>, Status> {
        if request.into_inner().purge {
            return Err(Status::failed_precondition("cannot purge"));
        }
        std::thread::spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(100));
            std::process::exit(0)
        });
        let daemon = self.daemon();
        Ok(Response::new(StopResponse {
            boot_id: self.0.script.boot_id,
            pid: daemon.pid,
            start_time_ticks: daemon.start_time_ticks,
            pool_bytes_kept: 4_096,
        }))
    }

    /// Tells progress until it is cancelled, and then the operation as the result; or, without one, refuses.
    async fn operate(
        &self,
        request: Request<Streaming<OperateRequest>>,
    ) -> Result<Response<Self::OperateStream>, Status> {
        let mut requests = request.into_inner();
        let first = requests.message().await?.and_then(|first| first.request);
        let Some(operate_request::Request::Operation(operation)) = first else {
            return Err(Status::invalid_argument("no operation"));
        };
        if operation.is_empty() {
            return Err(Status::invalid_argument("an empty operation"));
        }
        let (events, stream) = mpsc::channel(8);
        let shared = Arc::clone(&self.0);
        tokio::spawn(async move {
            let message = |event| Ok(OperateEvent { event: Some(event) });
            let progress = OperateProgress {
                blocks: 1,
                bytes: 2,
                blocks_expected: 3,
                bytes_expected: 4,
            };
            drop(
                events
                    .send(message(operate_event::Event::Progress(progress)))
                    .await,
            );
            if let Ok(Some(_)) = requests.message().await {
                drop(
                    events
                        .send(message(operate_event::Event::Result(operation)))
                        .await,
                );
            } else {
                shared.seen.lock().operations_left += 1;
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}
