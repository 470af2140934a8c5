//! A transfer whose grant was revoked touches nothing.

use pegaflow_core::grant::Revoke;
use pegaflow_proto::v1::load_response::Outcome;

use crate::support::Daemon;
use crate::support::engine::{Engine, Shape, fresh_hashes};

#[tokio::test]
async fn a_revoked_save_leaves_nothing() {
    let daemon = Daemon::start();
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let hashes = fresh_hashes(5);
    let used_before = daemon.status().await["pool"]["used_bytes"].clone();

    let worker = &mut engine.workers[0];
    let grant = worker.grants.issue().unwrap().unwrap();
    assert_eq!(grant.revoke().unwrap(), Revoke::Free);
    let request = worker.save_request(&hashes, &[0, 1, 2, 3, 4], &grant);
    let answer = worker.session.rpc.save(request).await.unwrap().into_inner();
    assert_eq!(
        (answer.saved, answer.present, answer.dropped, answer.revoked),
        (0, 0, 0, 5)
    );
    assert_eq!(answer.bytes, 0);
    grant.settle().unwrap();

    assert_eq!(engine.lookup(&hashes).await.memory_blocks, 0);
    let status = daemon.status().await;
    assert_eq!(status["pool"]["in_flight_pages"], 0);
    assert_eq!(status["pool"]["used_bytes"], used_before);
    assert_eq!(status["saves"]["failures"], 0, "an engine may change its mind");
    engine.save(&hashes, &[0, 1, 2, 3, 4]).await;
    assert_eq!(engine.lookup(&hashes).await.memory_blocks, 5);
}

#[tokio::test]
async fn a_revoked_load_writes_nothing_and_ends_the_ranks_part_of_the_lease() {
    let daemon = Daemon::start();
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let hashes = fresh_hashes(4);
    engine.save(&hashes, &[0, 1, 2, 3]).await;
    let lease = engine.lookup(&hashes).await.lease_id;

    let worker = &mut engine.workers[0];
    let before: Vec<_> = (10..14).map(|block| worker.memory.block(block)).collect();
    let grant = worker.grants.issue().unwrap().unwrap();
    grant.revoke().unwrap();
    let request = worker.load_request(lease, 0, &[10, 11, 12, 13], &grant);
    let answer = worker.session.rpc.load(request).await.unwrap().into_inner();
    assert_eq!(answer.outcome(), Outcome::Revoked);
    let after: Vec<_> = (10..14).map(|block| worker.memory.block(block)).collect();
    assert!(before == after, "the blocks hold what they held");
    let status = daemon.status().await;
    assert_eq!(status["leases"]["held"], 0);
    assert_eq!(status["loads"]["transfers"], 0);
    assert_eq!(status["loads"]["failures"], 0, "an engine may change its mind");
}

#[tokio::test]
async fn a_grant_of_an_earlier_use_of_the_slot_is_no_leave() {
    let daemon = Daemon::start();
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let hashes = fresh_hashes(1);
    let worker = &mut engine.workers[0];
    let grant = worker.grants.issue().unwrap().unwrap();
    let late = worker.save_request(&hashes, &[0], &grant);
    let slots = worker.grants.free_slots();
    grant.settle().unwrap();
    // Each slot is used once more, so that the late call's generation is over.
    for _ in 0..=slots {
        worker.grants.issue().unwrap().unwrap().settle().unwrap();
    }
    let answer = worker.session.rpc.save(late).await.unwrap().into_inner();
    assert_eq!((answer.saved, answer.revoked), (0, 1));
}
