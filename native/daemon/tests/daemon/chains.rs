//! What saved blocks follow decides which of them go first.

use serde_json::json;

use crate::accounts::release;
use crate::operations::operate;
use crate::support::Daemon;
use crate::support::engine::{Engine, Shape, Worker, fresh_hashes, packed};

type Hash = [u8; 32];

/// Saves these blocks of a chain, which nobody asked for, with what each of them follows.
async fn save_answer(worker: &mut Worker, chain: &[Hash], blocks: &[u32]) {
    let of = |block: u32| chain[block as usize];
    let hashes: Vec<_> = blocks.iter().map(|block| of(*block)).collect();
    let after: Vec<_> = blocks.iter().map(|block| of(block.saturating_sub(1))).collect();
    let grant = worker.grants.issue().unwrap().unwrap();
    let mut request = worker.save_request(&hashes, blocks, &grant);
    request.after = packed(&after);
    let saved = worker.session.rpc.save(request).await.unwrap().into_inner();
    grant.settle().unwrap();
    assert_eq!(saved.saved as usize, blocks.len());
}

/// Blocks that are found, which nobody holds afterwards.
async fn hits(engine: &mut Engine, chain: &[Hash]) -> u32 {
    let found = engine.lookup(chain).await;
    release(engine, found.lease_id).await;
    found.memory_blocks
}

#[tokio::test]
async fn an_answer_that_ranks_saved_by_turns_goes_from_its_end() {
    let daemon = Daemon::start();
    let shape = Shape::with_copies(2);
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let chain = fresh_hashes(12);
    let page_bytes = engine.workers[0].memory.page_bytes();
    save_answer(&mut engine.workers[1], &chain, &[1, 3, 5, 7, 9, 11]).await;
    save_answer(&mut engine.workers[0], &chain, &[0, 2, 4, 6, 8, 10]).await;

    let five = json!({"operation": "tier-evict", "tier": "memory", "amount": {"bytes": 5 * page_bytes}});
    assert_eq!(operate(&daemon, &five).await.unwrap()["blocks"], 5);
    assert_eq!(hits(&mut engine, &chain).await, 7);
}

#[tokio::test]
async fn what_blocks_follow_need_not_be_cached_nor_make_sense() {
    let daemon = Daemon::start();
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let hashes = fresh_hashes(3);
    let [first, second, third] = hashes[..] else {
        unreachable!()
    };
    for after in [[second, third, first], [third; 3], [[0; 32]; 3]] {
        let worker = &mut engine.workers[0];
        let grant = worker.grants.issue().unwrap().unwrap();
        let mut request = worker.save_request(&hashes, &[0, 1, 2], &grant);
        request.after = packed(&after);
        let saved = worker.session.rpc.save(request).await.unwrap().into_inner();
        grant.settle().unwrap();
        assert_eq!(saved.saved + saved.present, 3);
        assert_eq!(hits(&mut engine, &hashes).await, 3);
    }
    let evict = json!({"operation": "tier-evict", "tier": "memory", "amount": {"percent": 100}});
    assert_eq!(operate(&daemon, &evict).await.unwrap()["blocks"], 3);
}
