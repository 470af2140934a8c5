//! Why blocks were missed, and what eviction took: exactly what was done.

use super::fixture::{Fixture, Hash, MIB, random_bytes, random_hash};
use crate::demand::{Departure, MissReason};
use crate::eviction::PolicyKind;
use crate::pool::PagePtr;
use crate::progress::Progress;
use crate::store::Store;

const PAGE: u64 = 64 << 10;

/// The reasons that were counted at all.
fn missed(store: &Store) -> Vec<(&'static str, u64)> {
    let missed = store.demand().missed;
    let reasons = MissReason::all().map(|reason| (reason.name(), missed.of(reason)));
    reasons.filter(|(_, count)| *count > 0).collect()
}

fn evicted(store: &Store) -> Vec<(&'static str, [u64; 2])> {
    let evicted = store.demand().evicted;
    let evicted = evicted.into_iter().map(|(why, counts)| (why.name(), counts));
    evicted.filter(|(_, counts)| *counts != [0, 0]).collect()
}

#[test]
fn what_was_never_there_is_new_and_what_was_evicted_is_lost_for_that_reason() {
    let fixture = Fixture::quiet(8 * MIB, PolicyKind::Lru);
    let space = fixture.space(&[PAGE]);
    let hashes: Vec<Hash> = (0..6).map(|_| fixture.save(space).0).collect();
    assert_eq!(fixture.lookup(space, &[random_hash(), random_hash()]).len(), 0);
    assert_eq!(missed(&fixture.store), [("new", 2)]);
    assert_eq!(fixture.lookup(space, &hashes[..2]).len(), 2);

    fixture.store.evict_memory(None, &Progress::default()).unwrap();
    assert_eq!(evicted(&fixture.store), [("request", [4, 2])]);
    let asked = [hashes.clone(), vec![random_hash()]].concat();
    assert_eq!(fixture.lookup(space, &asked).len(), 0);
    assert_eq!(missed(&fixture.store), [("new", 3), ("request", 6)]);
    let demand = fixture.store.demand();
    assert_eq!(demand.residence.buckets.iter().sum::<u64>(), 6);
    assert_eq!(demand.idle.buckets.iter().sum::<u64>(), 6);
    assert_eq!(demand.missed.ghost_hits, [0, 0, 0]);
    let asked = demand
        .ceilings
        .iter()
        .map(|ceiling| (ceiling.requested, ceiling.distinct));
    assert_eq!(asked.collect::<Vec<_>>(), [(11, 9); 3]);
}

/// A block that left when 128 others, of as many bytes as the pool, had left after it is hit by a pool twice as large.
#[test]
fn what_larger_pools_would_have_hit_is_counted() {
    let fixture = Fixture::quiet(8 * MIB, PolicyKind::Lru);
    let space = fixture.space(&[PAGE]);
    let hashes: Vec<Hash> = (0..512).map(|_| fixture.save(space).0).collect();
    assert_eq!(fixture.snapshot().spaces[0].blocks, 128);
    assert_eq!(evicted(&fixture.store), [("room", [384, 0])]);
    // One by one, as each is behind none.
    for hash in &hashes[..384] {
        assert_eq!(fixture.lookup(space, &[*hash]).len(), 0);
    }
    let missed = fixture.store.demand().missed;
    assert_eq!(missed.of(MissReason::Left(Departure::Room)), 384);
    assert_eq!((missed.ghost_hits, missed.total()), ([64, 128, 384], 384));
}

#[test]
fn a_cached_block_behind_one_that_is_gone_is_behind() {
    let fixture = Fixture::new(8 * MIB);
    let space = fixture.space(&[PAGE]);
    let hashes: Vec<Hash> = (0..5).map(|_| fixture.save(space).0).collect();
    fixture.wait_for_checksums(5);
    corrupt(&fixture, space, &hashes[1]);
    let asked = [hashes.clone(), vec![random_hash(), random_hash()]].concat();
    assert_eq!(fixture.lookup(space, &asked).len(), 1);
    assert_eq!(
        missed(&fixture.store),
        [("new", 2), ("behind", 3), ("corrupt", 1)]
    );
    assert_eq!(evicted(&fixture.store), []);
}

#[test]
fn a_namespace_that_is_over_its_quota_loses_its_own() {
    let fixture = Fixture::quiet(8 * MIB, PolicyKind::Lru);
    let space = fixture.space(&[PAGE]);
    let hashes: Vec<Hash> = (0..10).map(|_| fixture.save(space).0).collect();
    let namespace = fixture.snapshot().spaces[0].key.namespace;
    fixture.store.set_quota(&namespace, Some(4 * PAGE)).unwrap();
    assert_eq!(evicted(&fixture.store), [("quota", [6, 0])]);
    assert_eq!(fixture.lookup(space, &hashes[..6]).len(), 0);
    assert_eq!(missed(&fixture.store), [("quota", 6)]);
}

#[test]
fn a_pool_that_shrinks_loses_what_has_no_room_any_more() {
    let fixture = Fixture::new(16 * MIB);
    let space = fixture.space(&[PAGE]);
    for _ in 0..200 {
        fixture.save(space);
    }
    fixture.wait_for_checksums(200);
    let resized = fixture
        .store
        .resize_memory(8 * MIB, &Progress::default())
        .unwrap();
    let counted = evicted(&fixture.store);
    let total: u64 = counted.iter().map(|(_, [never, found])| never + found).sum();
    assert_eq!(total, fixture.snapshot().spaces[0].evictions);
    assert!(
        total >= resized.evicted_blocks && total >= 200 - 128,
        "{counted:?}"
    );
    assert!(
        counted.iter().all(|(why, _)| ["room", "resize"].contains(why)),
        "{counted:?}"
    );
}

/// Changes a cached page, and lets a load find out.
fn corrupt(fixture: &Fixture, space: crate::space::SpaceId, hash: &Hash) {
    let hits = fixture.lookup(space, &[*hash]);
    let page: PagePtr = hits.page(0, 0).unwrap();
    page.write(&random_bytes(page.len()));
    drop(hits);
    fixture.store.verify_memory(&Progress::default());
}
