//! A daemon that is told to end finishes what is under way, and leaves nothing behind.

use std::fs;

use pegaflow_proto::v1::StopRequest;
use pegaflow_proto::v1::session_event::Event;
use rustix::process::Signal;
use tonic::Code;

use crate::support::engine::{Engine, Memory, Session, Shape, Worker, connect, fresh_hashes};
use crate::support::{Child, Daemon, config, eventually};

#[tokio::test]
async fn a_signal_drains_and_leaves_nothing_but_the_pool() {
    for signal in [Signal::TERM, Signal::INT] {
        let directory = tempfile::tempdir().unwrap();
        let pools = tempfile::TempDir::new_in("/dev/shm").unwrap();
        let mut settings = config(directory.path());
        settings.pool_dir = Some(pools.path().to_owned());
        let mut daemon = Child::start("daemon", &serde_json::to_string(&settings).unwrap());
        let mut engine = Engine::start(&settings.socket, &Shape::new()).await;
        engine.save(&fresh_hashes(3), &[0, 1, 2]).await;

        daemon.signal(signal);
        let event = engine.scheduler.events.message().await.unwrap().unwrap().event;
        assert!(matches!(event, Some(Event::Draining(_))), "{event:?}");
        assert!(daemon.wait().success());
        let left: Vec<_> = fs::read_dir(directory.path()).unwrap().flatten().collect();
        assert!(left.is_empty(), "{left:?}");
        let pool = daemon.said["pool_path"].as_str().unwrap();
        assert!(fs::exists(pool).unwrap(), "the next daemon has it");
    }
}

#[tokio::test]
async fn stop_is_answered_before_the_end() {
    let daemon = Daemon::start();
    let socket = daemon.socket().to_owned();
    let answer = daemon.stop().await;
    assert_eq!(answer.pid, std::process::id());
    assert_eq!(answer.pool_bytes_kept, 0);
    assert!(!socket.exists());
}

#[tokio::test]
async fn a_save_under_way_is_finished_and_new_work_is_refused() {
    let mut daemon = Daemon::start_with(|settings| settings.pool_bytes = 512 << 20);
    let shape = Shape::new();
    let mut scheduler = Session::attach(connect(daemon.socket()).await, shape.attach_scheduler())
        .await
        .unwrap();
    let memory = Memory::with_segments(400_000);
    let mut worker = Worker::with_memory(daemon.socket(), &shape, 0, 0, memory)
        .await
        .unwrap();
    let blocks: Vec<u32> = (0..64).collect();
    let mut control = daemon.control().await;
    let mut rpc = worker.session.rpc.clone();
    let late_grant = worker.grants.issue().unwrap().unwrap();
    let late = worker.save_request(&fresh_hashes(1), &[0], &late_grant);

    let hashes = fresh_hashes(64);
    let saving = worker.save(&hashes, &blocks);
    let stopping = async {
        eventually("the save has begun", async || {
            daemon.status().await["saves"]["in_flight"] == 1
        })
        .await;
        let stopped = tokio::spawn(async move { control.stop(StopRequest { purge: true }).await });
        let event = scheduler.events.message().await.unwrap().unwrap().event;
        assert!(matches!(event, Some(Event::Draining(_))));
        let error = rpc.save(late).await.unwrap_err();
        assert_eq!(error.code(), Code::Unavailable, "{error}");
        stopped.await.unwrap().unwrap();
    };
    let (answer, ()) = tokio::join!(saving, stopping);
    assert_eq!(answer.saved, 64);
    daemon.join().unwrap();
}
