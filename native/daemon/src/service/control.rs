//! The `Control` service: what operators' commands call.

use std::sync::Arc;

use pegaflow_proto::v1::control_server::Control;
use pegaflow_proto::v1::{
    OperateEvent, OperateRequest, StatusRequest, StatusResponse, StopRequest, StopResponse,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::caller::Caller;
use super::operate;
use super::refusal::{Answer, Refusal};
use crate::daemon::Daemon;
use crate::status;

/// What operators' commands call.
#[derive(Debug)]
pub(super) struct ControlService(pub(super) Arc<Daemon>);

impl ControlService {
    fn check<T>(&self, request: &Request<T>) -> Answer<()> {
        Caller::of(request, self.0.config.socket_group.is_some())?;
        Ok(())
    }
}

#[tonic::async_trait]
impl Control for ControlService {
    type OperateStream = ReceiverStream<Result<OperateEvent, Status>>;

    async fn status(&self, request: Request<StatusRequest>) -> Result<Response<StatusResponse>, Status> {
        self.check(&request)?;
        let json = status::json(&self.0).map_err(Refusal::from)?;
        Ok(Response::new(StatusResponse { json: json.into() }))
    }

    async fn stop(&self, request: Request<StopRequest>) -> Result<Response<StopResponse>, Status> {
        self.check(&request)?;
        self.0.lifecycle.drain(request.get_ref().purge);
        let pool_bytes_kept = self.0.lifecycle.wait_drained().await;
        let process = self.0.boot.process;
        Ok(Response::new(StopResponse {
            boot_id: self.0.boot.id,
            pid: process.pid,
            start_time_ticks: process.start_time_ticks,
            pool_bytes_kept,
        }))
    }

    async fn operate(
        &self,
        request: Request<Streaming<OperateRequest>>,
    ) -> Result<Response<Self::OperateStream>, Status> {
        self.check(&request)?;
        let events = operate::start(&self.0, request.into_inner()).await?;
        Ok(Response::new(events))
    }
}
