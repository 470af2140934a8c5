//! What is saved is what is found, once, and only when it is whole.

use super::fixture::{Fixture, MIB, random_hash};
use crate::store::Reserved;

#[test]
fn the_bytes_of_a_hash_are_the_bytes_saved_for_it() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[10_000]);
    let saved: Vec<_> = (0..100).map(|_| fixture.save(space)).collect();
    for (hash, bytes) in &saved {
        assert_eq!(fixture.read(space, 0, hash).as_ref(), Some(bytes));
    }
}

#[test]
fn a_page_abandoned_is_free_and_its_hash_a_miss() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[10_000]);
    let hash = random_hash();
    let writer = fixture.writer(space, 0, &hash);
    assert!(matches!(fixture.reserve(space, 0, &hash), Reserved::InFlight));
    assert_eq!(fixture.snapshot().in_flight_pages, 1);
    drop(writer);
    assert!(fixture.lookup(space, &[hash]).is_empty());
    let snapshot = fixture.snapshot();
    assert_eq!((snapshot.in_flight_pages, snapshot.pool.used_bytes), (0, 0));
    fixture.save_shard(space, 0, &hash);
    assert!(matches!(fixture.reserve(space, 0, &hash), Reserved::Present));
}

#[test]
fn a_block_is_visible_only_when_all_its_shards_are_sealed() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[10_000, 70_000, 4096]);
    let hash = random_hash();
    let mut saved = Vec::new();
    for shard in 0..3 {
        assert!(fixture.lookup(space, &[hash]).is_empty());
        saved.push(fixture.save_shard(space, shard, &hash));
        assert!(matches!(fixture.reserve(space, shard, &hash), Reserved::Present));
    }
    let hits = fixture.lookup(space, &[hash]);
    for (shard, bytes) in saved.iter().enumerate() {
        assert_eq!(&hits.page(0, shard as u32).unwrap().read(), bytes);
    }
    assert!(hits.page(0, 3).is_none());
    assert!(hits.page(1, 0).is_none());
}
