//! Engines that save the same blocks at the same time: one copy, and both succeed.

use pegaflow_proto::v1::load_response::Outcome;

use crate::support::engine::{Engine, Shape, fresh_hashes};
use crate::support::{Daemon, metrics};

const ENGINES: usize = 4;
const BLOCKS: u32 = 64;

#[tokio::test]
async fn each_block_is_copied_once_and_each_engine_can_load_it() {
    let daemon = Daemon::start();
    let shape = Shape::new();
    let hashes = fresh_hashes(BLOCKS as usize);
    let blocks: Vec<u32> = (0..BLOCKS).collect();
    let mut savers = Vec::new();
    for _ in 0..ENGINES {
        let (socket, shape, hashes, blocks) = (
            daemon.socket().to_owned(),
            shape.twin(),
            hashes.clone(),
            blocks.clone(),
        );
        savers.push(tokio::spawn(async move {
            let mut engine = Engine::start(&socket, &shape).await;
            let answer = engine.workers[0].save(&hashes, &blocks).await;
            assert_eq!(
                (answer.saved + answer.present, answer.dropped, answer.revoked),
                (BLOCKS, 0, 0)
            );
            engine
        }));
    }
    let mut engines = Vec::new();
    for saver in savers {
        engines.push(saver.await.unwrap());
    }
    let metrics = metrics(&daemon.ready.http_addr);
    assert_eq!(
        metrics["pegaflow_save_blocks_total{result=\"saved\"}"],
        f64::from(BLOCKS)
    );

    let originals: Vec<Vec<Vec<u8>>> = engines
        .iter()
        .map(|engine| {
            blocks
                .iter()
                .map(|&block| engine.workers[0].memory.block(block))
                .collect()
        })
        .collect();
    for engine in &mut engines {
        let lease = engine.lookup(&hashes).await.lease_id;
        assert_eq!(
            engine.workers[0].load(lease, 0, &blocks).await.unwrap().outcome(),
            Outcome::Loaded
        );
        for &block in &blocks {
            let loaded = engine.workers[0].memory.block(block);
            assert!(
                originals.iter().any(|saved| saved[block as usize] == loaded),
                "block {block} is nobody's"
            );
        }
    }
    let loaded = |index: usize| blocks.iter().map(move |&block| (index, block));
    assert!(loaded(0).zip(loaded(1)).all(|((a, block), (b, _))| {
        engines[a].workers[0].memory.block(block) == engines[b].workers[0].memory.block(block)
    }));
}
