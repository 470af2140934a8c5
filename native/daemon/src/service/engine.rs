//! The `Engine` service: takes each call apart and hands it on.

use std::sync::Arc;

use pegaflow_proto::v1::engine_server::Engine;
use pegaflow_proto::v1::{
    AttachRequest, LoadRequest, LoadResponse, LookupRequest, LookupResponse, RegisterRequest,
    RegisterResponse, ReleaseRequest, ReleaseResponse, RenewRequest, RenewResponse, SaveRequest,
    SaveResponse,
};
use tonic::{Request, Response, Status};

use super::caller::Caller;
use super::refusal::{Answer, Refusal};
use super::{attach, load, lookup, register, save};
use crate::daemon::Daemon;
use crate::lifecycle::Phase;
use crate::session::EventStream;

/// What engines call.
#[derive(Debug)]
pub(super) struct EngineService(pub(super) Arc<Daemon>);

impl EngineService {
    fn caller<T>(&self, request: &Request<T>) -> Answer<Caller> {
        Ok(Caller::of(request, self.0.config.socket_group.is_some())?)
    }

    /// The caller of what a draining daemon does not begin any more.
    fn caller_while_serving<T>(&self, request: &Request<T>) -> Answer<Caller> {
        let caller = self.caller(request)?;
        if self.0.lifecycle.phase() == Phase::Serving {
            Ok(caller)
        } else {
            Err(Refusal::draining())
        }
    }
}

/// A unary call's answer as the generated code wants it.
fn answer<T>(result: Answer<T>) -> Result<Response<T>, Status> {
    Ok(Response::new(result?))
}

#[tonic::async_trait]
impl Engine for EngineService {
    type AttachStream = EventStream;

    async fn attach(&self, request: Request<AttachRequest>) -> Result<Response<Self::AttachStream>, Status> {
        let caller = self.caller_while_serving(&request)?;
        answer(attach::attach(&self.0, caller, request.into_inner()))
    }

    async fn register(
        &self,
        request: Request<RegisterRequest>,
    ) -> Result<Response<RegisterResponse>, Status> {
        let caller = self.caller_while_serving(&request)?;
        answer(register::register(&self.0, caller, request.into_inner()).await)
    }

    async fn lookup(&self, request: Request<LookupRequest>) -> Result<Response<LookupResponse>, Status> {
        let caller = self.caller_while_serving(&request)?;
        answer(lookup::lookup(&self.0, caller, request.into_inner()).await)
    }

    async fn release(&self, request: Request<ReleaseRequest>) -> Result<Response<ReleaseResponse>, Status> {
        let caller = self.caller(&request)?;
        answer(lookup::release(&self.0, caller, request.get_ref()))
    }

    async fn renew(&self, request: Request<RenewRequest>) -> Result<Response<RenewResponse>, Status> {
        let caller = self.caller(&request)?;
        answer(lookup::renew(&self.0, caller, request.into_inner()))
    }

    async fn save(&self, request: Request<SaveRequest>) -> Result<Response<SaveResponse>, Status> {
        let caller = self.caller_while_serving(&request)?;
        answer(save::save(&self.0, caller, request.into_inner()).await)
    }

    async fn load(&self, request: Request<LoadRequest>) -> Result<Response<LoadResponse>, Status> {
        let caller = self.caller(&request)?;
        answer(load::load(&self.0, caller, request.into_inner()).await)
    }
}
