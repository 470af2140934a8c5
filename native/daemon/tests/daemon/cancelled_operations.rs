//! Operations that end before they are done.

use pegaflow_daemon::config::SsdPath;
use pegaflow_proto::v1::operate_event::Event;
use pegaflow_proto::v1::{OperateCancel, OperateEvent, operate_request};
use serde_json::{Value, json};
use tonic::Streaming;

use crate::operations::{Requests, begin, operate, request};
use crate::support::engine::{BLOCKS, Engine, Shape, fresh_hashes};
use crate::support::{Daemon, eventually};

/// A daemon that has its blocks on ssd, and none in memory.
async fn cold_daemon() -> Daemon {
    let daemon = Daemon::start_with(|config| {
        config.ssd = vec![SsdPath {
            path: config.socket.with_extension("ssd"),
            capacity_bytes: 64 << 20,
        }];
    });
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let blocks: Vec<u32> = (0..BLOCKS).collect();
    engine.save(&fresh_hashes(blocks.len()), &blocks).await;
    drop(engine);
    let drained = operate(&daemon, &json!({"operation": "tier-drain", "tier": "memory"})).await;
    assert_eq!(drained.unwrap()["blocks"], BLOCKS);
    daemon
}

/// A warming that has loaded something, and waits for its rate to allow more.
async fn warming(daemon: &Daemon) -> (Requests, Streaming<OperateEvent>) {
    let operation = json!({"operation": "warm", "from": "ssd", "rate_bytes_per_s": 1});
    let (requests, mut events) = begin(daemon, operation.to_string().as_bytes()).await.unwrap();
    loop {
        match events.message().await.unwrap().unwrap().event.unwrap() {
            Event::Progress(progress) if progress.blocks > 0 => {
                assert_eq!(progress.blocks_expected, u64::from(BLOCKS));
                return (requests, events);
            }
            Event::Progress(_) => {}
            Event::Result(result) => panic!("it ended: {result:?}"),
        }
    }
}

async fn result(events: &mut Streaming<OperateEvent>) -> Value {
    loop {
        if let Event::Result(result) = events.message().await.unwrap().unwrap().event.unwrap() {
            return serde_json::from_slice(&result).unwrap();
        }
    }
}

fn check_is_partial(result: &Value) {
    assert_eq!(result["cancelled"], true);
    let blocks = result["blocks"].as_u64().unwrap();
    assert!((1..u64::from(BLOCKS)).contains(&blocks), "{result}");
}

async fn is_cancelled(daemon: &Daemon) -> bool {
    daemon.status().await["ssd"]["warming"]["state"] == "cancelled"
}

#[tokio::test]
async fn one_that_is_cancelled_says_what_it_has_done() {
    let daemon = cold_daemon().await;
    let (requests, mut events) = warming(&daemon).await;
    let cancel = operate_request::Request::Cancel(OperateCancel {});
    requests.send(request(cancel)).await.unwrap();
    check_is_partial(&result(&mut events).await);
    assert!(events.message().await.unwrap().is_none(), "it was the last event");
    assert!(is_cancelled(&daemon).await);
}

#[tokio::test]
async fn one_that_nobody_listens_to_any_more_ends() {
    let daemon = cold_daemon().await;
    drop(warming(&daemon).await);
    eventually("the warming ends", async || is_cancelled(&daemon).await).await;
}

#[tokio::test]
async fn a_client_that_says_nothing_more_still_listens() {
    let daemon = cold_daemon().await;
    let (requests, mut events) = warming(&daemon).await;
    drop(requests);
    for _ in 0..3 {
        let event = events.message().await.unwrap().unwrap().event.unwrap();
        assert!(matches!(event, Event::Progress(_)), "{event:?}");
    }
    assert!(!is_cancelled(&daemon).await);
}

#[tokio::test]
async fn a_draining_daemon_ends_it_and_tells_its_result() {
    let daemon = cold_daemon().await;
    let (_requests, mut events) = warming(&daemon).await;
    let (told, _stopped) = tokio::join!(result(&mut events), daemon.stop());
    check_is_partial(&told);
}
