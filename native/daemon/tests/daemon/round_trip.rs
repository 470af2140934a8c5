//! What is loaded is what was saved, for every shard.

use crate::support::Daemon;
use crate::support::engine::{Engine, Shape, fresh_hashes};
use pegaflow_proto::v1::load_response::Outcome;
use pegaflow_proto::v1::lookup_response::State;

#[tokio::test]
async fn another_engine_loads_the_bytes_of_both_shards() {
    let daemon = Daemon::start();
    let shape = Shape::with_workers(2);
    let mut saver = Engine::start(daemon.socket(), &shape).await;
    let mut loader = Engine::start(daemon.socket(), &shape.twin()).await;

    let hashes = fresh_hashes(20);
    let from: Vec<u32> = (0..20).map(|index| index * 3).collect();
    let to: Vec<u32> = (0..20).map(|index| 60 - index * 3).collect();
    saver.save(&hashes, &from).await;
    let found = loader.lookup(&hashes).await;
    assert_eq!(found.state(), State::Ready);
    assert_eq!(found.memory_blocks, 20);
    for (worker, saved) in loader.workers.iter_mut().zip(&saver.workers) {
        let untouched = worker.memory.block(1);
        let answer = worker.load(found.lease_id, 0, &to).await.unwrap();
        assert_eq!(answer.outcome(), Outcome::Loaded, "{}", answer.message);
        assert_eq!(answer.bytes, 20 * worker.memory.page_bytes());
        for (&from, &to) in from.iter().zip(&to) {
            assert!(
                worker.memory.block(to) == saved.memory.block(from),
                "block {from} into {to}"
            );
        }
        assert!(worker.memory.block(1) == untouched, "a block that nobody named");
    }
}

#[tokio::test]
async fn a_block_is_visible_only_when_all_its_shards_are_saved() {
    let daemon = Daemon::start();
    let mut engine = Engine::start(daemon.socket(), &Shape::with_workers(2)).await;
    let hashes = fresh_hashes(4);

    engine.workers[0].save(&hashes, &[0, 1, 2, 3]).await;
    assert_eq!(engine.lookup(&hashes).await.memory_blocks, 0);
    engine.workers[1].save(&hashes[..3], &[0, 1, 2]).await;
    assert_eq!(engine.lookup(&hashes).await.memory_blocks, 3);
}

#[tokio::test]
async fn a_lookup_counts_up_to_the_first_gap() {
    let daemon = Daemon::start();
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let hashes = fresh_hashes(6);
    engine
        .save(&[hashes[0], hashes[1], hashes[3], hashes[4]], &[0, 1, 3, 4])
        .await;

    assert_eq!(engine.lookup(&hashes).await.memory_blocks, 2);
    let found = engine.lookup(&hashes[2..]).await;
    assert_eq!((found.memory_blocks, found.lease_id), (0, 0));
    let found = engine.lookup(&[]).await;
    assert_eq!(
        (found.state(), found.memory_blocks, found.lease_id),
        (State::Ready, 0, 0)
    );
}

#[tokio::test]
async fn a_block_that_is_cached_is_not_copied_again() {
    let daemon = Daemon::start();
    let shape = Shape::new();
    let mut first = Engine::start(daemon.socket(), &shape).await;
    let mut second = Engine::start(daemon.socket(), &shape.twin()).await;
    let hashes = fresh_hashes(5);

    first.save(&hashes[..3], &[0, 1, 2]).await;
    let answer = second.workers[0].save(&hashes, &[9, 8, 7, 6, 5]).await;
    assert_eq!(
        (answer.saved, answer.present, answer.dropped, answer.revoked),
        (2, 3, 0, 0)
    );
    assert_eq!(answer.bytes, 2 * second.workers[0].memory.page_bytes());

    let lease = second.lookup(&hashes).await.lease_id;
    second.workers[0]
        .load(lease, 0, &[20, 21, 22, 23, 24])
        .await
        .unwrap();
    let (loaded, saved) = (&second.workers[0].memory, &first.workers[0].memory);
    assert!(
        (0..3).all(|index| loaded.block(20 + index) == saved.block(index)),
        "the first save's bytes stay"
    );
}

#[tokio::test]
async fn engines_of_two_namespaces_never_share() {
    let daemon = Daemon::start();
    let mut one = Engine::start(daemon.socket(), &Shape::new()).await;
    let mut other = Engine::start(daemon.socket(), &Shape::new()).await;
    let hashes = fresh_hashes(3);
    one.save(&hashes, &[0, 1, 2]).await;
    assert_eq!(one.lookup(&hashes).await.memory_blocks, 3);
    assert_eq!(other.lookup(&hashes).await.memory_blocks, 0);
}
