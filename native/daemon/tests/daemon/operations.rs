//! Operations over the socket.

use pegaflow_proto::v1::operate_event::Event;
use pegaflow_proto::v1::{OperateCancel, OperateRequest, operate_request};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

use crate::support::Daemon;

pub(crate) type Requests = mpsc::Sender<OperateRequest>;

/// Begins an operation; its cancellation is a further request.
pub(crate) async fn begin(
    daemon: &Daemon,
    operation: &[u8],
) -> Result<(Requests, Streaming<pegaflow_proto::v1::OperateEvent>), Status> {
    let (requests, stream) = mpsc::channel(4);
    let first = operate_request::Request::Operation(operation.to_vec().into());
    requests.send(request(first)).await.unwrap();
    let answer = daemon
        .control()
        .await
        .operate(ReceiverStream::new(stream))
        .await?;
    Ok((requests, answer.into_inner()))
}

pub(crate) fn request(request: operate_request::Request) -> OperateRequest {
    OperateRequest {
        request: Some(request),
    }
}

/// The result of an operation, after any progress.
pub(crate) async fn operate(daemon: &Daemon, operation: &Value) -> Result<Value, Status> {
    let (_requests, mut events) = begin(daemon, operation.to_string().as_bytes()).await?;
    loop {
        match events.message().await?.unwrap().event.unwrap() {
            Event::Progress(_) => {}
            Event::Result(result) => return Ok(serde_json::from_slice(&result).unwrap()),
        }
    }
}

#[tokio::test]
async fn an_operation_ends_with_its_result() {
    let daemon = Daemon::start();
    let result = operate(&daemon, &json!({"operation": "tier-verify", "tier": "memory"}))
        .await
        .unwrap();
    assert!(result["seconds"].as_f64().unwrap() >= 0.0);
    let expected = json!({
        "schema": "pegaflow.operated/1",
        "operation": "tier-verify",
        "cancelled": false,
        "seconds": result["seconds"],
        "tier": "memory",
        "verified": 0,
        "bytes": 0,
        "corrupt": 0,
        "pending": 0,
        "paths": [],
    });
    assert_eq!(result, expected);
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_and_named() {
    let daemon = Daemon::start();
    let digits = "a".repeat(65);
    let cases = [
        (json!([]), "operation"),
        (json!({}), "operation"),
        (json!({"operation": "frobnicate"}), "frobnicate"),
        (json!({"operation": "tier-verify"}), "tier"),
        (json!({"operation": "tier-verify", "tier": "tape"}), "tape"),
        (
            json!({"operation": "tier-verify", "tier": "memory", "hurry": true}),
            "hurry",
        ),
        (
            json!({"operation": "tier-verify", "tier": "memory", "path": "/a"}),
            "/a",
        ),
        (
            json!({"operation": "tier-verify", "tier": "memory", "path": "a/b"}),
            "a/b",
        ),
        (
            json!({"operation": "tier-resize", "tier": "memory", "size_bytes": -1}),
            "-1",
        ),
        (
            json!({"operation": "tier-evict", "tier": "memory", "amount": {"percent": 101}}),
            "101",
        ),
        (
            json!({"operation": "tier-evict", "tier": "memory", "amount": {"percent": 0}}),
            "percent = 0",
        ),
        (
            json!({"operation": "tier-evict", "tier": "memory", "amount": 5}),
            "5",
        ),
        (json!({"operation": "tier-evict", "tier": "memory"}), "amount"),
        (
            json!({"operation": "tier-evict", "tier": "memory", "amount": {"bytes": 0}}),
            "0 bytes cannot be used",
        ),
        (
            json!({"operation": "warm", "from": "ssd", "rate_bytes_per_s": 0}),
            "0 bytes cannot be used",
        ),
        (
            json!({"operation": "tier-resize", "tier": "memory", "size_bytes": 1_u64 << 63}),
            "9223372036854775808 bytes cannot be used",
        ),
        (
            json!({"operation": "namespace-quota", "namespace": "ab".repeat(32), "quota": {"bytes": 1_u64 << 62}}),
            "more than the pool's",
        ),
        (json!({"operation": "namespace-pin", "namespace": "xyz"}), "xyz"),
        (
            json!({"operation": "namespace-pin", "namespace": digits}),
            "1 to 64",
        ),
        (
            json!({"operation": "namespace-quota", "namespace": "ab"}),
            "quota",
        ),
    ];
    for (operation, named) in cases {
        let refused = operate(&daemon, &operation).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{operation}: {refused}");
        assert!(refused.message().contains(named), "{operation}: {refused}");
    }
    for bytes in [&b""[..], b"{", b"\xff\xfe", &[b'['; 100_000]] {
        let refused = begin(&daemon, bytes).await.map(drop).unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let daemon = Daemon::start();
    let operation = json!({"operation": "namespace-evict", "namespace": "ab"});
    let refused = operate(&daemon, &operation).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    assert!(
        refused.message().contains("no namespace begins with ab"),
        "{refused}"
    );
}

#[tokio::test]
async fn the_first_message_must_be_an_operation() {
    let daemon = Daemon::start();
    let (requests, stream) = mpsc::channel(1);
    let cancel = operate_request::Request::Cancel(OperateCancel {});
    requests.send(request(cancel)).await.unwrap();
    let mut control = daemon.control().await;
    let refused = control.operate(ReceiverStream::new(stream)).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    // As is a client that says nothing at all.
    let nothing = tokio_stream::iter(Vec::new());
    let refused = control.operate(nothing).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
}
