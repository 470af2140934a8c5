//! Memory follows demand from one page size to another.

use super::fixture::{Fixture, MIB, random_hash};
use crate::eviction::PolicyKind;
use crate::store::Reserved;

const SMALL: u64 = 64 << 10;

#[test]
fn a_pool_full_of_small_pages_serves_large_ones_and_back() {
    let fixture = Fixture::quiet(4 * MIB, PolicyKind::Lru);
    let small = fixture.space(&[SMALL]);
    let large = fixture.space(&[MIB]);
    for _ in 0..200 {
        fixture.save(small);
    }
    for _ in 0..20 {
        let (hash, bytes) = fixture.save(large);
        assert_eq!(fixture.read(large, 0, &hash), Some(bytes));
    }
    let snapshot = fixture.snapshot();
    assert_eq!(snapshot.no_space, 0);
    assert!(
        snapshot.pool.slabs_moved >= 3,
        "{} slabs moved",
        snapshot.pool.slabs_moved
    );
    assert_eq!(
        snapshot.pool.used_bytes,
        snapshot.spaces[0].bytes + snapshot.spaces[1].bytes
    );
    for _ in 0..200 {
        let (hash, bytes) = fixture.save(small);
        assert_eq!(fixture.read(small, 0, &hash), Some(bytes));
    }
    assert_eq!(fixture.snapshot().no_space, 0);
    assert!(fixture.snapshot().spaces[0].blocks >= 32);
}

#[test]
fn slabs_with_pinned_blocks_do_not_move() {
    let fixture = Fixture::quiet(4 * MIB, PolicyKind::Lru);
    let small = fixture.space(&[SMALL]);
    let large = fixture.space(&[MIB]);
    let saved: Vec<_> = (0..4 * MIB / SMALL).map(|_| fixture.save(small)).collect();
    let kept = fixture.lookup(small, &[saved.last().unwrap().0]);
    let bytes = &saved.last().unwrap().1;
    let mut writers = Vec::new();
    while let Reserved::Page(writer) = fixture.reserve(large, 0, &random_hash()) {
        writers.push(writer);
    }
    assert_eq!(writers.len(), 3);
    assert_eq!(&kept.page(0, 0).unwrap().read(), bytes);
    let left = fixture.snapshot().spaces[0].blocks;
    assert!((1..=16).contains(&left), "{left} small blocks are left");
    drop(kept);
    assert!(matches!(
        fixture.reserve(large, 0, &random_hash()),
        Reserved::Page(_)
    ));
}

#[test]
fn a_page_that_is_being_saved_keeps_its_slab() {
    let fixture = Fixture::quiet(2 * MIB, PolicyKind::Lru);
    let small = fixture.space(&[SMALL]);
    let large = fixture.space(&[MIB]);
    let hash = random_hash();
    let writer = fixture.writer(small, 0, &hash);
    writer.page().write(&[3; SMALL as usize]);
    while fixture.snapshot().spaces[0].evictions == 0 {
        fixture.save(small);
    }
    let first = fixture.reserve(large, 0, &random_hash());
    assert!(matches!(first, Reserved::Page(_)));
    assert!(matches!(
        fixture.reserve(large, 0, &random_hash()),
        Reserved::NoSpace
    ));
    writer.seal();
    assert_eq!(fixture.read(small, 0, &hash), Some(vec![3; SMALL as usize]));
}

#[test]
fn the_space_that_was_unused_for_longest_gives() {
    let fixture = Fixture::quiet(8 * MIB, PolicyKind::Lru);
    let idle = fixture.space(&[SMALL]);
    let busy = fixture.space(&[2 * SMALL]);
    let newcomer = fixture.space(&[MIB]);
    for _ in 0..4 * MIB / SMALL {
        fixture.save(idle);
    }
    let used: Vec<_> = (0..2 * MIB / SMALL).map(|_| fixture.save(busy).0).collect();
    for _ in 0..3 {
        assert_eq!(fixture.lookup(busy, &used).len(), used.len());
        fixture.save(newcomer);
    }
    let snapshot = fixture.snapshot();
    assert!(snapshot.spaces[0].evictions >= 2 * MIB / SMALL);
    assert_eq!(snapshot.spaces[1].evictions, 0);
}

#[test]
fn blocks_with_pages_of_two_sizes_go_whole() {
    let fixture = Fixture::quiet(4 * MIB, PolicyKind::Lru);
    let mixed = fixture.space(&[SMALL, 3 * SMALL]);
    let large = fixture.space(&[MIB]);
    for _ in 0..100 {
        let hash = random_hash();
        let bytes = [
            fixture.save_shard(mixed, 0, &hash),
            fixture.save_shard(mixed, 1, &hash),
        ];
        for (shard, bytes) in (0..2).zip(bytes) {
            assert_eq!(fixture.read(mixed, shard, &hash), Some(bytes));
        }
    }
    for _ in 0..8 {
        fixture.save(large);
    }
    let snapshot = fixture.snapshot();
    assert_eq!(
        snapshot.pool.used_bytes,
        snapshot.spaces[0].bytes + snapshot.spaces[1].bytes
    );
    assert_eq!((snapshot.no_space, snapshot.spaces[1].blocks), (0, 4));
}
