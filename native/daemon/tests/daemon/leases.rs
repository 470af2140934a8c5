//! A lease ends exactly once: when each rank has loaded, by release, by expiry, or with its owner.

use pegaflow_proto::v1::load_response::Outcome;
use pegaflow_proto::v1::{ReleaseRequest, RenewRequest};
use tonic::Code;

use crate::support::engine::{Engine, Shape, fresh_hashes};
use crate::support::{Daemon, eventually};

async fn held(daemon: &Daemon) -> u64 {
    daemon.status().await["leases"]["held"].as_u64().unwrap()
}

#[tokio::test]
async fn it_ends_when_each_rank_has_loaded_once() {
    let daemon = Daemon::start();
    let mut engine = Engine::start(daemon.socket(), &Shape::with_workers(3)).await;
    let hashes = fresh_hashes(4);
    engine.save(&hashes, &[0, 1, 2, 3]).await;
    let lease = engine.lookup(&hashes).await.lease_id;

    for (index, worker) in engine.workers.iter_mut().enumerate() {
        assert_eq!(held(&daemon).await, 1);
        // Any run of it, or none of it, is this rank's part.
        let answer = worker
            .load(lease, index as u32, &[20, 21][..2 - index])
            .await
            .unwrap();
        assert_eq!(answer.outcome(), Outcome::Loaded);
        if index < 2 {
            assert_eq!(
                worker.load(lease, 0, &[22]).await.unwrap_err().code(),
                Code::FailedPrecondition
            );
        }
    }
    assert_eq!(held(&daemon).await, 0);
    assert_eq!(
        engine.workers[0].load(lease, 0, &[22]).await.unwrap().outcome(),
        Outcome::LeaseEnded
    );
}

#[tokio::test]
async fn it_ends_by_release_and_a_later_load_writes_nothing() {
    let daemon = Daemon::start();
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let hashes = fresh_hashes(2);
    engine.save(&hashes, &[0, 1]).await;
    let lease_ids = vec![
        engine.lookup(&hashes).await.lease_id,
        engine.lookup(&hashes).await.lease_id,
    ];
    assert_eq!(held(&daemon).await, 2);

    let session_id = engine.scheduler.id();
    let request = ReleaseRequest {
        session_id,
        lease_ids: lease_ids.clone(),
        lookup_ids: Vec::new(),
    };
    assert_eq!(
        engine
            .scheduler
            .rpc
            .release(request.clone())
            .await
            .unwrap()
            .get_ref()
            .released,
        2
    );
    assert_eq!(
        engine
            .scheduler
            .rpc
            .release(request)
            .await
            .unwrap()
            .get_ref()
            .released,
        0
    );
    assert_eq!(held(&daemon).await, 0);
    let before = engine.workers[0].memory.block(30);
    let answer = engine.workers[0].load(lease_ids[0], 0, &[30, 31]).await.unwrap();
    assert_eq!(answer.outcome(), Outcome::LeaseEnded);
    assert!(engine.workers[0].memory.block(30) == before);
    let renewal = RenewRequest {
        session_id,
        lease_ids: lease_ids.clone(),
        breaker_openings: 0,
    };
    assert_eq!(
        engine
            .scheduler
            .rpc
            .renew(renewal)
            .await
            .unwrap()
            .get_ref()
            .unknown,
        lease_ids
    );
}

#[tokio::test]
async fn it_ends_by_expiry_unless_it_is_renewed() {
    let daemon = Daemon::start_with(|settings| settings.lease_ttl_s = 1.5);
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    assert_eq!(engine.scheduler.opened.lease_ttl_ms, 1_500);
    let hashes = fresh_hashes(2);
    engine.save(&hashes, &[0, 1]).await;
    let kept = engine.lookup(&hashes).await.lease_id;
    let left = engine.lookup(&hashes).await.lease_id;
    let session_id = engine.scheduler.id();
    let mut rpc = engine.scheduler.rpc.clone();
    eventually("the lease that nobody renews ends", async || {
        let renewal = RenewRequest {
            session_id,
            lease_ids: vec![kept],
            breaker_openings: 0,
        };
        assert!(rpc.renew(renewal).await.unwrap().get_ref().unknown.is_empty());
        held(&daemon).await == 1
    })
    .await;
    assert_eq!(
        engine.workers[0].load(left, 0, &[5]).await.unwrap().outcome(),
        Outcome::LeaseEnded
    );
    assert_eq!(
        engine.workers[0].load(kept, 0, &[5]).await.unwrap().outcome(),
        Outcome::Loaded
    );
}

#[tokio::test]
async fn it_ends_with_its_owners_session() {
    let daemon = Daemon::start();
    let shape = Shape::new();
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let hashes = fresh_hashes(2);
    engine.save(&hashes, &[0, 1]).await;
    engine.lookup(&hashes).await;
    let Engine { scheduler, .. } = engine;
    assert_eq!(held(&daemon).await, 1);
    drop(scheduler);
    eventually("the lease ends", async || held(&daemon).await == 0).await;
}

#[tokio::test]
async fn it_is_its_own_engines_and_boots_only() {
    let daemon = Daemon::start();
    let shape = Shape::new();
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let mut twin = Engine::start(daemon.socket(), &shape.twin()).await;
    let hashes = fresh_hashes(2);
    engine.save(&hashes, &[0, 1]).await;
    let lease = engine.lookup(&hashes).await.lease_id;

    assert_eq!(
        twin.workers[0].load(lease, 0, &[4]).await.unwrap().outcome(),
        Outcome::LeaseEnded
    );
    let worker = &mut engine.workers[0];
    let grant = worker.grants.issue().unwrap().unwrap();
    let mut request = worker.load_request(lease, 0, &[4], &grant);
    request.lease_boot_id ^= 1;
    let answer = worker.session.rpc.load(request).await.unwrap().into_inner();
    assert_eq!(answer.outcome(), Outcome::LeaseEnded);
    assert_eq!(held(&daemon).await, 1);
}

#[tokio::test]
async fn leased_blocks_stay_through_pressure() {
    let daemon = Daemon::start();
    let shape = Shape::new();
    let mut engine = Engine::start(daemon.socket(), &shape).await;
    let wanted = fresh_hashes(8);
    let blocks: Vec<u32> = (0..8).collect();
    engine.save(&wanted, &blocks).await;
    let lease = engine.lookup(&wanted).await.lease_id;
    let saved: Vec<_> = blocks
        .iter()
        .map(|&block| engine.workers[0].memory.block(block))
        .collect();

    // Five times what the pool holds.
    let page_bytes = engine.workers[0].memory.page_bytes();
    let all: Vec<u32> = (0..64).collect();
    let (mut offered, mut answered) = (0, 0);
    while offered * page_bytes < 5 * (64 << 20) {
        let answer = engine.workers[0].save(&fresh_hashes(64), &all).await;
        offered += 64;
        answered += answer.saved + answer.dropped;
    }
    assert_eq!(u64::from(answered), offered);
    let destinations: Vec<u32> = (30..38).collect();
    let answer = engine.workers[0].load(lease, 0, &destinations).await.unwrap();
    assert_eq!(answer.outcome(), Outcome::Loaded, "{}", answer.message);
    let loaded: Vec<_> = destinations
        .iter()
        .map(|&block| engine.workers[0].memory.block(block))
        .collect();
    assert!(saved == loaded);
}
