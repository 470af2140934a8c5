//! An operation on tiers or namespaces, followed from the caller's thread.

use std::path::Path;
use std::time::Duration;

use parking_lot::Mutex;
use pegaflow_proto::v1::operate_event::Event;
use pegaflow_proto::v1::{OperateCancel, OperateEvent, OperateProgress, OperateRequest, operate_request};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Streaming;

use crate::control::{answer_of, client, overdue, refusal};
use crate::error::{ClientError, ClientErrorKind, Result};
use crate::session::Connection;

/// What a daemon tells of an operation.
#[derive(Debug, Clone, PartialEq)]
pub enum OperationEvent {
    /// How far it is; told again and again.
    Progress(OperateProgress),
    /// The result, as JSON; the last event.
    Result(String),
}

/// An operation under way in a daemon, which ends it when this is dropped.
#[derive(Debug)]
pub struct Operation {
    following: Mutex<Following>,
    requests: mpsc::Sender<OperateRequest>,
    /// Ends when it is dropped.
    connection: Connection,
    timeout: Duration,
}

/// The stream, which moves while the runtime that it was made in runs.
#[derive(Debug)]
struct Following {
    events: Streaming<OperateEvent>,
    runtime: Runtime,
}

impl Operation {
    /// Asks the daemon for an operation, as JSON, and returns when it has begun.
    ///
    /// # Errors
    /// `Unreachable` without a daemon, `Timeout` when nothing is heard for `timeout`, `Invalid` and `Refused` for what it says.
    pub fn start(socket: &Path, operation: String, timeout: Duration) -> Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|source| ClientError::new(ClientErrorKind::Config, format!("start a call: {source}")))?;
        // An operation and its cancellation.
        let (requests, stream) = mpsc::channel(2);
        let first = operate_request::Request::Operation(operation.into());
        let mut peer_pid = None;
        let starting = async {
            let connection = Connection::open(socket).await?;
            peer_pid = Some(connection.peer_pid());
            // The channel is new: there is room.
            drop(requests.try_send(message(first)));
            let answer = client(&connection).operate(ReceiverStream::new(stream)).await;
            answer_of(answer).map(|events| (connection, events))
        };
        let started = runtime.block_on(async { tokio::time::timeout(timeout, starting).await });
        let (connection, events) = started.map_err(|_| overdue("Operate", peer_pid, timeout))??;
        Ok(Self {
            following: Mutex::new(Following { events, runtime }),
            requests,
            connection,
            timeout,
        })
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// As for [`Operation::start`].
    pub fn next(&self) -> Result<OperationEvent> {
        let Following { events, runtime } = &mut *self.following.lock();
        let event = runtime
            .block_on(async { tokio::time::timeout(self.timeout, events.message()).await })
            .map_err(|_| overdue("Operate", Some(self.connection.peer_pid()), self.timeout))?
            .map_err(refusal)?;
        match event.and_then(|event| event.event) {
            Some(Event::Progress(progress)) => Ok(OperationEvent::Progress(progress)),
            Some(Event::Result(json)) => String::from_utf8(json.to_vec())
                .map(OperationEvent::Result)
                .map_err(|_| without("the operation's result is not UTF-8")),
            None => Err(without("the daemon ended the operation without a result")),
        }
    }

    /// Asks the daemon to end the operation early; its result, with what is done, is the last event still.
    pub fn cancel(&self) {
        // There is no room when it is asked for already, and nobody to hear it when the operation has ended.
        drop(
            self.requests
                .try_send(message(operate_request::Request::Cancel(OperateCancel {}))),
        );
    }
}

fn message(request: operate_request::Request) -> OperateRequest {
    OperateRequest {
        request: Some(request),
    }
}

fn without(why: &str) -> ClientError {
    ClientError::new(ClientErrorKind::Refused, why)
}
