//! Warming fills free room, says how far it is, and can be ended and begun again.

use super::*;
use crate::error::ErrorKind;
use crate::ssd::BlockOrder;
use crate::store::{WarmProgress, WarmRequest, WarmState};
use crate::sync::Arc;

const BLOCKS: u64 = 60;

struct Cold {
    tiers: Tiers,
    keys: [SpaceKey; 2],
    blocks: [Blocks; 2],
}

/// Two namespaces on ssd, of which the pool has nothing.
fn cold(pool_bytes: u64) -> Cold {
    let (tiers, keys) = (Tiers::new(32 * MIB), [key(), key()]);
    let blocks = keys.map(|key| {
        let space = tiers.space(key, &[PAGE]);
        tiers.save(space, 1, BLOCKS as usize)
    });
    let tiers = tiers.restart(pool_bytes);
    Cold { tiers, keys, blocks }
}

impl Cold {
    fn warm(&self, request: WarmRequest) -> WarmProgress {
        let warm = self.tiers.fixture.store.warm(request).unwrap();
        let progress = warm.wait(Instant::now() + Duration::from_secs(60));
        assert_ne!(progress.state, WarmState::Running);
        progress
    }

    /// Blocks of a namespace that are in the pool, byte for byte what was saved.
    fn in_memory(&self, which: usize) -> usize {
        let space = self.tiers.space(self.keys[which], &[PAGE]);
        let blocks = self.blocks[which].iter().filter(|(hash, shards)| {
            let bytes = self.tiers.fixture.read(space, 0, hash);
            assert!(bytes.is_none() || bytes.as_ref() == Some(&shards[0]));
            bytes.is_some()
        });
        blocks.count()
    }
}

#[test]
fn it_fetches_all_and_then_nothing() {
    let cold = cold(32 * MIB);
    let progress = cold.warm(WarmRequest::default());
    let all = 2 * BLOCKS;
    assert_eq!((progress.planned_blocks, progress.fetched_blocks), (all, all));
    assert_eq!(progress.fetched_bytes, all * PAGE);
    assert_eq!(
        (cold.in_memory(0), cold.in_memory(1)),
        (BLOCKS as usize, BLOCKS as usize)
    );
    let again = cold.warm(WarmRequest::default());
    assert_eq!((again.planned_blocks, again.present_blocks), (0, all));
    assert!(!again.is_limited);
    cold.tiers.check_idle();
}

#[test]
fn it_may_be_of_one_namespace_and_of_so_many_bytes() {
    let cold = cold(32 * MIB);
    let request = WarmRequest {
        namespace: Some(cold.keys[1].namespace),
        limit_bytes: Some(20 * PAGE),
        order: BlockOrder::Recent,
        ..WarmRequest::default()
    };
    let dry = cold.warm(WarmRequest {
        is_dry_run: true,
        ..request.clone()
    });
    assert_eq!((dry.planned_blocks, dry.fetched_blocks), (20, 0));
    assert!(dry.is_limited);
    assert_eq!((cold.in_memory(0), cold.in_memory(1)), (0, 0));
    let progress = cold.warm(request);
    assert_eq!((progress.planned_blocks, progress.fetched_blocks), (20, 20));
    assert_eq!((cold.in_memory(0), cold.in_memory(1)), (0, 20));
}

#[test]
fn it_drives_nothing_out_unless_asked() {
    let cold = cold(4 * MIB);
    let other = cold.tiers.fixture.space(&[PAGE]);
    let saved = cold.tiers.save(other, 1, 40);
    let progress = cold.warm(WarmRequest::default());
    assert!(
        progress.fetched_blocks > 0 && progress.no_room_blocks > 0,
        "{progress:?}"
    );
    assert_eq!(
        progress.fetched_blocks + progress.no_room_blocks,
        progress.planned_blocks
    );
    let kept = || {
        let is_kept = |(hash, _): &&Block| cold.tiers.fixture.read(other, 0, hash).is_some();
        saved.iter().filter(is_kept).count()
    };
    assert_eq!(kept(), 40);
    let progress = cold.warm(WarmRequest {
        may_evict: true,
        ..WarmRequest::default()
    });
    assert!(progress.fetched_blocks > 0);
    assert!(kept() < 40);
}

#[test]
fn it_can_be_cancelled_and_there_is_one_at_a_time() {
    let cold = cold(32 * MIB);
    let store = &cold.tiers.fixture.store;
    // So slow that it does not end by itself.
    let request = WarmRequest {
        bytes_per_s: Some(1),
        ..WarmRequest::default()
    };
    let warm = store.warm(request.clone()).unwrap();
    assert_eq!(store.warm(request).unwrap_err().kind(), ErrorKind::Conflict);
    warm.cancel();
    let progress = warm.wait(Instant::now() + Duration::from_secs(60));
    assert_eq!(progress.state, WarmState::Cancelled);
    assert!(progress.fetched_blocks <= 2);
    cold.tiers.check_idle();
    assert_eq!(cold.warm(WarmRequest::default()).state, WarmState::Done);
}

#[test]
fn it_goes_no_faster_than_it_may() {
    let cold = cold(32 * MIB);
    let began = Instant::now();
    let progress = cold.warm(WarmRequest {
        bytes_per_s: Some(BLOCKS * PAGE * 2),
        ..WarmRequest::default()
    });
    assert_eq!(progress.fetched_blocks, 2 * BLOCKS);
    // All but the last few blocks, at a second for all of them.
    assert!(began.elapsed() >= Duration::from_millis(700));
}

#[test]
fn a_closed_store_is_held_by_nothing_of_its_tier() {
    for _ in 0..5 {
        let cold = cold(32 * MIB);
        // The later ones have nothing to do, and end at once.
        for _ in 0..3 {
            assert_eq!(cold.warm(WarmRequest::default()).state, WarmState::Done);
        }
        let store = Arc::clone(&cold.tiers.fixture.store);
        store.close(true).unwrap();
        drop(cold);
        assert_eq!(Arc::strong_count(&store), 1);
    }
}
