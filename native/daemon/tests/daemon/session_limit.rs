//! Engine sessions are limited, and the limit is a sentence.

use tonic::Code;

use crate::support::engine::{Session, Shape, connect};
use crate::support::{Daemon, eventually, metrics};

const LIMIT: usize = 1_024;
/// Fewer than a connection's streams.
const PER_CONNECTION: usize = 128;

#[tokio::test]
async fn one_more_than_the_limit_is_refused_until_one_ends() {
    let daemon = Daemon::start();
    let mut sessions = Vec::new();
    for _ in 0..LIMIT / PER_CONNECTION {
        let channel = connect(daemon.socket()).await;
        for _ in 0..PER_CONNECTION {
            sessions.push(
                Session::attach(channel.clone(), Shape::new().attach_scheduler())
                    .await
                    .unwrap(),
            );
        }
    }
    let channel = connect(daemon.socket()).await;
    let error = Session::attach(channel.clone(), Shape::new().attach_scheduler())
        .await
        .err()
        .unwrap();
    assert_eq!(error.code(), Code::ResourceExhausted);
    assert!(error.message().contains("1024"), "{}", error.message());
    assert_eq!(
        metrics(&daemon.ready.http_addr)["pegaflow_engine_sessions"],
        LIMIT as f64
    );

    sessions.pop();
    eventually("there is room again", async || {
        Session::attach(channel.clone(), Shape::new().attach_scheduler())
            .await
            .is_ok()
    })
    .await;
    drop(sessions);
    eventually("all are gone", async || {
        metrics(&daemon.ready.http_addr)["pegaflow_engine_sessions"] == 0.0
    })
    .await;
}
