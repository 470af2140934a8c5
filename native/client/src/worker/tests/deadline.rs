//! Transfers that the daemon does not answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use self::fake::{FakeDaemon, Script};
use crate::worker::{EngineLayout, TransferEnd, WorkerClient, WorkerConfig};

#[expect(dead_code, reason = "the integration tests use all of it")]
#[path = "../../../tests/client/fake/mod.rs"]
mod fake;

const LIMIT: Duration = Duration::from_secs(20);

fn eventually<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < LIMIT, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn end(worker: &WorkerClient) -> TransferEnd {
    eventually("an end", || worker.poll().unwrap().pop())
}

#[test]
fn it_ends_at_the_deadline_unless_the_daemon_is_copying() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("daemon.sock");
    let (go_on, waits) = watch::channel(false);
    let taken = Arc::new(watch::Sender::new(false));
    let load = {
        let taken = Arc::clone(&taken);
        move |(grants, request): (
            Arc<pegaflow_core::grant::GrantFile>,
            pegaflow_proto::v1::LoadRequest,
        )| {
            let (mut waits, taken) = (waits.clone(), Arc::clone(&taken));
            let answer: fake::Answer<_> = Box::pin(async move {
                let grant = request.grant.unwrap();
                let guard = grants.take(grant.slot, grant.generation).unwrap();
                taken.send_replace(true);
                waits.wait_for(|go_on| *go_on).await.unwrap();
                drop(guard);
                std::future::pending().await
            });
            answer
        }
    };
    let save = |_| -> fake::Answer<_> { Box::pin(std::future::pending()) };
    let script = Script {
        load: Box::new(load),
        save: Box::new(save),
        ..Script::default()
    };
    let _daemon = FakeDaemon::start(&socket, script);
    let json = r#"{"hash_bytes": 8, "groups": [{"group": 0, "num_blocks": 1, "layers": [
        {"name": "l", "base_address": 0, "block_stride": 1, "segments": [[0, 1]]}]}]}"#;
    let layout = EngineLayout::from_json(json).unwrap();
    let config = WorkerConfig {
        socket,
        engine_id: String::new(),
        rank: 0,
        shard: 0,
        layout,
    };
    let deadline = Duration::from_millis(200);
    let worker = WorkerClient::with_deadline(config, deadline).unwrap();
    worker.identify([0; 16], [0; 32]).unwrap();
    eventually("registered", || worker.attached().unwrap().then_some(()));

    let saving = worker.save("s", vec![0; 8].into(), vec![0]).unwrap().unwrap();
    let ended = end(&worker);
    assert_eq!((ended.transfer_id, ended.ok), (saving, false));
    assert!(
        ended.elapsed >= deadline && ended.message.contains("0.2 s"),
        "{ended:?}"
    );

    let loading = worker.load("l", 1, fake::BOOT, 0, vec![0]).unwrap();
    eventually("taken", || taken.borrow().then_some(()));
    std::thread::sleep(2 * deadline);
    assert_eq!((worker.in_flight().unwrap(), worker.poll().unwrap()), (1, vec![]));
    go_on.send_replace(true);
    let ended = end(&worker);
    assert_eq!((ended.transfer_id, ended.ok), (loading, false));
}
