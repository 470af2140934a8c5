//! Blocks that some ranks saved and others did not.

use std::time::{Duration, Instant};

use super::fixture::{Fixture, MIB, random_hash};
use crate::store::PARTIAL_BLOCK_TTL;

#[test]
fn a_partial_block_is_dropped_after_its_time_and_counted() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[4096, 4096]);
    let hash = random_hash();
    fixture.save_shard(space, 0, &hash);
    assert_eq!(fixture.snapshot().partial_blocks, 1);
    assert_eq!(fixture.store.drop_stale_partial_blocks(Instant::now()), 0);

    let later = Instant::now() + PARTIAL_BLOCK_TTL;
    assert_eq!(fixture.store.drop_stale_partial_blocks(later), 1);
    let snapshot = fixture.snapshot();
    assert_eq!((snapshot.partial_blocks, snapshot.partial_blocks_dropped), (0, 1));
    assert_eq!((snapshot.pool.used_bytes, snapshot.spaces[0].blocks), (0, 0));

    fixture.save_shard(space, 0, &hash);
    fixture.save_shard(space, 1, &hash);
    assert_eq!(fixture.lookup(space, &[hash]).len(), 1);
}

#[test]
fn a_partial_block_with_a_writer_is_never_dropped_under_it() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[4096, 4096]);
    let hash = random_hash();
    let bytes = fixture.save_shard(space, 0, &hash);
    let writer = fixture.writer(space, 1, &hash);
    let later = Instant::now() + PARTIAL_BLOCK_TTL + Duration::from_secs(1);
    assert_eq!(fixture.store.drop_stale_partial_blocks(later), 0);
    writer.page().write(&[1; 4096]);
    writer.seal();
    assert_eq!(fixture.read(space, 0, &hash), Some(bytes));
    assert_eq!(fixture.snapshot().partial_blocks, 0);
}

#[test]
fn a_visible_block_is_not_partial_however_old() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[4096]);
    let (hash, bytes) = fixture.save(space);
    assert_eq!(
        fixture
            .store
            .drop_stale_partial_blocks(Instant::now() + 100 * PARTIAL_BLOCK_TTL),
        0
    );
    assert_eq!(fixture.read(space, 0, &hash), Some(bytes));
}

#[test]
fn partial_blocks_give_way_under_pressure_and_are_counted() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[65_536, 65_536]);
    for _ in 0..1000 {
        fixture.save_shard(space, 0, &random_hash());
    }
    fixture.stop_threads();
    let snapshot = fixture.snapshot();
    assert_eq!(snapshot.no_space, 0);
    assert_eq!(snapshot.partial_blocks + snapshot.partial_blocks_dropped, 1000);
    assert_eq!(snapshot.pool.used_bytes, snapshot.partial_blocks * 65_536);
    assert_eq!((snapshot.spaces[0].blocks, snapshot.spaces[0].evictions), (0, 0));
}
