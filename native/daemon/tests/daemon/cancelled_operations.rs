//! Operations that end before they are done.

use std::io::Write;
use std::net::TcpStream;

use pegaflow_daemon::config::SsdPath;
use pegaflow_proto::v1::operate_event::Event;
use pegaflow_proto::v1::{OperateCancel, OperateEvent, operate_request};
use serde_json::{Value, json};
use tonic::Streaming;

use crate::operations::{Requests, begin, operate, request};
use crate::support::engine::{BLOCKS, Engine, Shape, fresh_hashes};
use crate::support::half_open::Kind;
use crate::support::{Daemon, TOKEN, eventually, get, metrics, token_file};

/// A daemon that has its blocks on ssd, and none in memory.
async fn cold_daemon() -> Daemon {
    let daemon = Daemon::start_with(|config| {
        config.http_token_file = Some(token_file(&config.socket, TOKEN));
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

/// The metric of warmings that ended so; 0 before the first.
fn ended(daemon: &Daemon, result: &str) -> f64 {
    let name = format!("pegaflow_operations_total{{operation=\"warm\",result=\"{result}\"}}");
    let metrics = metrics(&daemon.ready.http_addr);
    metrics.get(&name).copied().unwrap_or_default()
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
async fn status_and_metrics_show_what_runs_and_how_it_ended() {
    let daemon = cold_daemon().await;
    let running = || metrics(&daemon.ready.http_addr)["pegaflow_operations_running"];
    assert_eq!(
        (running(), daemon.status().await["operations"].clone()),
        (0.0, json!([]))
    );
    let (requests, mut events) = warming(&daemon).await;
    assert_eq!(running(), 1.0);
    let shown = daemon.status().await["operations"].clone();
    assert_eq!(shown.as_array().unwrap().len(), 1, "{shown}");
    assert_eq!(shown[0]["operation"], "warm");
    assert_eq!(shown[0]["blocks_expected"], BLOCKS);
    assert!(shown[0]["blocks"].as_u64().unwrap() > 0, "{shown}");
    assert!(
        shown[0]["bytes_expected"].as_u64() > shown[0]["bytes"].as_u64(),
        "{shown}"
    );
    assert!(shown[0]["elapsed_s"].as_f64().unwrap() > 0.0);
    let cancel = operate_request::Request::Cancel(OperateCancel {});
    requests.send(request(cancel)).await.unwrap();
    result(&mut events).await;
    assert_eq!(
        (running(), daemon.status().await["operations"].clone()),
        (0.0, json!([]))
    );
    assert_eq!((ended(&daemon, "cancelled"), ended(&daemon, "done")), (1.0, 0.0));

    operate(&daemon, &json!({"operation": "warm", "from": "ssd"}))
        .await
        .unwrap();
    let nowhere = json!({"operation": "warm", "from": "ssd", "namespace": "0123456789"});
    operate(&daemon, &nowhere).await.unwrap_err();
    let all = ["done", "cancelled", "refused", "failed"].map(|result| ended(&daemon, result));
    assert_eq!(all, [1.0, 1.0, 1.0, 0.0]);
}

#[tokio::test]
async fn one_that_nobody_listens_to_any_more_ends() {
    let daemon = cold_daemon().await;
    drop(warming(&daemon).await);
    eventually("the warming ends", async || is_cancelled(&daemon).await).await;
}

#[tokio::test]
async fn one_over_http_ends_with_its_own_connection_and_with_no_other() {
    let daemon = cold_daemon().await;
    let mut asking = TcpStream::connect(&daemon.ready.http_addr).unwrap();
    // Some blocks a second, which takes half a minute.
    let body = json!({"from": "ssd", "rate_bytes_per_s": 40_000}).to_string();
    let length = body.len();
    write!(
        asking,
        "POST /v1/operations/warm HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let warmed = async || daemon.status().await["operations"][0]["blocks"].as_u64();
    eventually("it warms", async || warmed().await.is_some()).await;
    // More than the daemon has at once, so that all that are not in use have to go.
    let others = (0..600).map(|_| Kind::Silent.open(&daemon.ready.http_addr, TOKEN));
    let _others: Vec<TcpStream> = others.collect();
    assert_eq!(get(&daemon.ready.http_addr, "/readyz").code, 200);
    let before = warmed().await.unwrap();
    eventually("it goes on", async || {
        warmed().await.is_some_and(|now| now > before)
    })
    .await;
    drop(asking);
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
