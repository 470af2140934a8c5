//! `Control.Operate`: one operation, its progress and its result.

use std::sync::Arc;
use std::time::Duration;

use pegaflow_core::progress::ProgressSnapshot;
use pegaflow_proto::v1::operate_event::Event;
use pegaflow_proto::v1::{OperateEvent, OperateProgress, OperateRequest, operate_request};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::refusal::{Answer, Refusal};
use crate::daemon::Daemon;
use crate::operation::{Operation, Running};

/// How often the progress is told, whether or not there is any: it is a sign of life too.
const TELL: Duration = Duration::from_millis(200);
/// Events that a slow client may be behind.
const EVENTS: usize = 4;

type Events = ReceiverStream<Result<OperateEvent, Status>>;

/// Begins the operation of the first message.
pub(super) async fn start(daemon: &Arc<Daemon>, mut requests: Streaming<OperateRequest>) -> Answer<Events> {
    let first = requests.message().await.map_err(Refusal::from)?;
    let Some(operate_request::Request::Operation(json)) = first.and_then(|first| first.request) else {
        return Err(Refusal::invalid(
            "the first message of Operate must have an operation",
        ));
    };
    let running = Running::start(daemon, Operation::from_json(&json)?)?;
    let (events, told) = mpsc::channel(EVENTS);
    tokio::spawn(tell(running, requests, events));
    Ok(ReceiverStream::new(told))
}

/// Tells how far the operation is until it has ended; ends it when nobody listens.
async fn tell(
    mut running: Running,
    mut requests: Streaming<OperateRequest>,
    events: mpsc::Sender<Result<OperateEvent, Status>>,
) {
    let mut ticks = interval(TELL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut may_cancel = true;
    loop {
        let event = tokio::select! {
            result = running.result() => {
                let end = result
                    .map(|json| Event::Result(json.into()))
                    .map_err(|error| Refusal::from(error).into());
                // Nobody may listen any more.
                drop(events.send(end.map(message)).await);
                return;
            }
            request = requests.message(), if may_cancel => {
                match request {
                    Ok(Some(OperateRequest { request: Some(operate_request::Request::Cancel(_)) })) => running.cancel(),
                    Ok(Some(_)) => {}
                    // A client may have nothing more to say and listen still.
                    Ok(None) => may_cancel = false,
                    Err(_) => return,
                }
                continue;
            }
            () = events.closed() => return,
            _ = ticks.tick() => progress(running.progress()),
        };
        if events.send(Ok(message(event))).await.is_err() {
            return;
        }
    }
}

fn progress(now: ProgressSnapshot) -> Event {
    Event::Progress(OperateProgress {
        blocks: now.blocks,
        bytes: now.bytes,
        blocks_expected: now.blocks_expected,
        bytes_expected: now.bytes_expected,
    })
}

fn message(event: Event) -> OperateEvent {
    OperateEvent { event: Some(event) }
}
