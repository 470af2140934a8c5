//! Workers that hold copies of one shard hold the same bytes, or the engine is refused.

use tonic::Code;

use crate::support::Daemon;
use crate::support::engine::{Memory, Session, Shape, Worker, connect};

#[tokio::test]
async fn copies_of_a_shard_with_two_layouts_are_refused_with_both_sizes() {
    let daemon = Daemon::start();
    let shape = Shape::with_copies(2);
    let socket = daemon.socket();
    let _scheduler = Session::attach(connect(socket).await, shape.attach_scheduler())
        .await
        .unwrap();
    let first = Worker::start(socket, &shape, 0, 0).await;
    let other = Memory::with_segments(4_096);
    let sizes = [first.memory.page_bytes(), other.page_bytes()];

    let refused = Worker::with_memory(socket, &shape, 1, 0, other).await;

    let error = refused.err().unwrap();
    assert_eq!(error.code(), Code::FailedPrecondition);
    for bytes in sizes {
        assert!(
            error.message().contains(&bytes.to_string()),
            "{}",
            error.message()
        );
    }
}
