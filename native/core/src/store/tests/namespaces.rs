//! What operators set for namespaces, and what they evict.

use super::fixture::{Fixture, Hash, MIB, geometry, random_hash};
use crate::error::ErrorKind;
use crate::eviction::PolicyKind;
use crate::pool::Pool;
use crate::progress::Progress;
use crate::space::{SpaceId, SpaceKey};
use crate::store::reclaim::Reclaimed;
use crate::store::spaces::Spaces;
use crate::store::{NamespaceSnapshot, Reserved, Store};

const PAGE: u64 = 64 << 10;

fn key(namespace: u8, group: u32) -> SpaceKey {
    SpaceKey {
        namespace: [namespace; 32],
        group,
    }
}

fn space(store: &Store, namespace: u8) -> SpaceId {
    store.space(key(namespace, 0), geometry(&[PAGE])).unwrap()
}

/// Saves one by one, as a block is not evicted while its checksum is made; the hashes.
fn fill(fixture: &Fixture, space: SpaceId, blocks: usize) -> Vec<Hash> {
    let save = |_| {
        let (hash, _) = fixture.save(space);
        fixture.wait_for_inspector();
        hash
    };
    (0..blocks).map(save).collect()
}

fn found(fixture: &Fixture, space: SpaceId, hashes: &[Hash]) -> usize {
    let is_found = |hash: &&Hash| fixture.read(space, 0, hash).is_some();
    hashes.iter().filter(is_found).count()
}

fn snapshot_of(fixture: &Fixture, namespace: u8) -> NamespaceSnapshot {
    let all = fixture.store.namespaces();
    all.into_iter()
        .find(|known| known.namespace == [namespace; 32])
        .unwrap()
}

#[test]
fn a_pinned_namespace_keeps_its_blocks_under_pressure_and_after_a_take_over() {
    let mut fixture = Fixture::new(8 * MIB);
    fixture.store.pin_namespace(&[1; 32]).unwrap();
    let pinned = fill(&fixture, space(&fixture.store, 1), 80);
    for _ in 0..2 {
        let (ours, others) = (space(&fixture.store, 1), space(&fixture.store, 2));
        fill(&fixture, others, 500);
        assert_eq!(found(&fixture, ours, &pinned), 80);
        assert!(snapshot_of(&fixture, 1).is_pinned && !snapshot_of(&fixture, 2).is_pinned);
        assert_eq!(fixture.snapshot().no_space, 0);
        fixture = fixture.reopen(|_| {});
    }
    fixture.store.unpin_namespace(&[1; 32]).unwrap();
    let (ours, others) = (space(&fixture.store, 1), space(&fixture.store, 2));
    fill(&fixture, others, 500);
    assert!(found(&fixture, ours, &pinned) < 80);
}

#[test]
fn pinned_namespaces_leave_a_part_of_the_pool_to_others() {
    let fixture = Fixture::new(8 * MIB);
    fixture.store.pin_namespace(&[1; 32]).unwrap();
    let (ours, others) = (space(&fixture.store, 1), space(&fixture.store, 2));
    fill(&fixture, ours, 300);
    // A quarter of the pool less what is kept free ahead of need.
    let theirs = fill(&fixture, others, 20);
    assert_eq!(found(&fixture, others, &theirs), 20);
    assert!(snapshot_of(&fixture, 1).used_bytes <= 8 * MIB * 3 / 4 + MIB);
    fill(&fixture, others, 500);
    assert!(snapshot_of(&fixture, 1).used_bytes >= 8 * MIB * 3 / 4 - MIB);
    assert_eq!(fixture.snapshot().no_space, 0);
}

#[test]
fn one_turn_of_eviction_leaves_pinned_namespaces_their_part() {
    let fixture = Fixture::quiet(8 * MIB, PolicyKind::Lru);
    fixture.store.pin_namespace(&[1; 32]).unwrap();
    let (ours, others) = (space(&fixture.store, 1), space(&fixture.store, 2));
    for (space, blocks) in [(ours, 110), (others, 10)] {
        (0..blocks).for_each(|_| drop(fixture.save(space)));
    }
    let (class, _) = fixture.store.pool.class(PAGE).unwrap();
    let made = fixture.store.make_room(class, 256, || false);
    assert_eq!(made, Reclaimed::Some);
    let left = [1, 2].map(|namespace| snapshot_of(&fixture, namespace).blocks);
    assert_eq!(left, [95, 0]);
}

#[test]
fn pins_keep_no_page_size_out_of_the_pool() {
    let fixture = Fixture::new(4 * MIB);
    fixture.store.pin_namespace(&[1; 32]).unwrap();
    let (ours, others) = (space(&fixture.store, 1), space(&fixture.store, 2));
    // A pinned block in each slab.
    let mut pinned = Vec::new();
    for number in 0..64 {
        if number % 8 == 0 {
            pinned.push(fixture.save(ours).0);
        } else {
            fixture.save(others);
        }
    }
    let large = fixture.space(&[MIB]);
    let writer = fixture.reserve(large, 0, &random_hash());
    assert!(matches!(writer, Reserved::Page(_)));
    assert!(found(&fixture, ours, &pinned) >= 4);
}

#[test]
fn a_namespace_takes_no_more_than_its_quota_and_evicts_its_own_blocks() {
    let mut fixture = Fixture::new(8 * MIB);
    let others = fill(&fixture, space(&fixture.store, 2), 60);
    fixture.store.set_quota(&[1; 32], Some(20 * PAGE + 1)).unwrap();
    for _ in 0..2 {
        let ours = space(&fixture.store, 1);
        let saved = fill(&fixture, ours, 50);
        let snapshot = snapshot_of(&fixture, 1);
        assert_eq!((snapshot.used_bytes, snapshot.blocks), (20 * PAGE, 20));
        assert_eq!(snapshot.quota_bytes, Some(20 * PAGE + 1));
        assert_eq!(found(&fixture, ours, &saved[30..]), 20, "its coldest blocks went");
        let theirs = space(&fixture.store, 2);
        assert_eq!(found(&fixture, theirs, &others), 60, "others lost nothing");
        // In flight counts too.
        let writers: Vec<_> = (0..30)
            .map(|_| fixture.reserve(ours, 0, &random_hash()))
            .collect();
        let pages = writers
            .iter()
            .filter(|reserved| matches!(reserved, Reserved::Page(_)));
        assert_eq!(pages.count(), 20);
        drop(writers);
        fixture = fixture.reopen(|_| {});
    }
    fixture.store.set_quota(&[1; 32], None).unwrap();
    let ours = space(&fixture.store, 1);
    let saved = fill(&fixture, ours, 50);
    assert_eq!(found(&fixture, ours, &saved), 50);
}

#[test]
fn a_lower_quota_evicts_at_once_what_is_not_in_use() {
    let fixture = Fixture::new(8 * MIB);
    let ours = space(&fixture.store, 1);
    let saved = fill(&fixture, ours, 50);
    let held = fixture.lookup(ours, &saved[..10]);
    fixture.store.set_quota(&[1; 32], Some(5 * PAGE)).unwrap();
    assert_eq!(snapshot_of(&fixture, 1).blocks, 10);
    drop(held);
    fixture.store.set_quota(&[1; 32], Some(5 * PAGE)).unwrap();
    assert_eq!(snapshot_of(&fixture, 1).blocks, 5);
    fixture.store.set_quota(&[1; 32], Some(0)).unwrap();
    assert_eq!(snapshot_of(&fixture, 1).used_bytes, 0);
    assert!(matches!(
        fixture.reserve(ours, 0, &random_hash()),
        Reserved::NoSpace
    ));
}

#[test]
fn evicting_takes_the_coldest_and_leaves_what_is_pinned_or_in_use() {
    let fixture = Fixture::new(8 * MIB);
    let (ours, others) = (space(&fixture.store, 1), space(&fixture.store, 2));
    let pinned = fill(&fixture, ours, 20);
    fixture.store.pin_namespace(&[1; 32]).unwrap();
    let saved = fill(&fixture, others, 40);
    let progress = Progress::default();
    let evicted = fixture
        .store
        .evict_memory(Some(10 * PAGE - 1), &progress)
        .unwrap();
    assert_eq!(
        (evicted.blocks, evicted.bytes, evicted.kept_blocks),
        (10, 10 * PAGE, 0)
    );
    assert_eq!(progress.snapshot().bytes, 10 * PAGE);
    assert_eq!(
        (
            found(&fixture, others, &saved[..10]),
            found(&fixture, others, &saved[10..])
        ),
        (0, 30)
    );
    let held = fixture.lookup(others, &saved[12..15]);
    let evicted = fixture.store.evict_memory(None, &Progress::default()).unwrap();
    assert_eq!((evicted.blocks, evicted.kept_blocks), (27, 23));
    assert_eq!(evicted.kept_bytes, 23 * PAGE);
    assert_eq!(found(&fixture, ours, &pinned), 20);
    drop(held);

    let evicted = fixture
        .store
        .evict_namespace(&[1; 32], &Progress::default())
        .unwrap();
    assert_eq!((evicted.blocks, evicted.kept_blocks), (20, 0));
    assert_eq!(found(&fixture, others, &saved), 3);
    let unknown = fixture
        .store
        .evict_namespace(&[9; 32], &Progress::default())
        .unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
    let cancelled = Progress::default();
    cancelled.cancel();
    assert_eq!(fixture.store.evict_memory(None, &cancelled).unwrap().blocks, 0);
}

#[test]
fn what_is_set_for_a_namespace_without_blocks_outlives_an_empty_pool_which_keeps_no_memory() {
    let fixture = Fixture::new(4 * MIB);
    fixture.store.set_quota(&[1; 32], Some(PAGE)).unwrap();
    fixture.store.pin_namespace(&[1; 32]).unwrap();
    let kept = fixture.store.close(false).unwrap();
    assert!(kept < MIB, "{kept} bytes stay taken");
    let dir = fixture.abandon();
    let config = super::fixture::config(dir.path(), 4 * MIB);
    let fixture = Fixture::open(dir, config);
    let snapshot = snapshot_of(&fixture, 1);
    assert_eq!((snapshot.is_pinned, snapshot.quota_bytes), (true, Some(PAGE)));
    fixture.store.unpin_namespace(&[1; 32]).unwrap();
    fixture.store.set_quota(&[1; 32], None).unwrap();
    assert!(fixture.store.namespaces().is_empty());
    assert_eq!(fixture.store.close(false).unwrap(), 0);
    assert_eq!(fixture.dir.path().read_dir().unwrap().count(), 0);
}

#[test]
fn spaces_that_nobody_uses_go_when_there_is_no_room_for_more() {
    let dir = tempfile::TempDir::new_in("/dev/shm").unwrap();
    let pool = Pool::open(crate::pool::PoolConfig {
        pool_bytes: 4 * MIB,
        dir: Some(dir.path()),
        socket: dir.path(),
        boot_id: 1,
    })
    .unwrap();
    let spaces = Spaces::new(4);
    let make = |number: u8| spaces.get_or_make(&pool, PolicyKind::Lru, key(number, 0), geometry(&[PAGE]));
    let ids: Vec<_> = (0..4).map(|number| make(number).unwrap()).collect();
    let held = [spaces.hold(ids[1]).unwrap(), spaces.hold(ids[3]).unwrap()];
    let new = make(10).unwrap();
    // In the place of one that went, whose id names nothing now.
    assert_eq!(new.number, ids[0].number);
    for gone in [ids[0], ids[2]] {
        assert_eq!(spaces.get(gone).unwrap_err().kind(), ErrorKind::NotFound);
        assert_eq!(spaces.hold(gone).unwrap_err().kind(), ErrorKind::NotFound);
    }
    assert!(spaces.get(ids[1]).is_ok() && spaces.get(ids[3]).is_ok());
    assert_eq!(make(1).unwrap(), ids[1]);
    let holds: Vec<_> = [new, make(11).unwrap()].map(|id| spaces.hold(id).unwrap()).into();
    let error = make(12).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Limit);
    assert!(error.message().contains("evict"), "{error}");
    drop((held, holds));
    make(12).unwrap();
    pool.close(true).unwrap();
}

#[test]
fn a_space_with_blocks_stays_when_there_is_no_room_for_more() {
    let fixture = Fixture::new(4 * MIB);
    let (ours, unused) = (space(&fixture.store, 1), space(&fixture.store, 2));
    let saved = fill(&fixture, ours, 3);
    let writing = fixture.writer(space(&fixture.store, 3), 0, &random_hash());
    let held = fixture.lookup(ours, &saved);
    fixture.store.spaces.free_unused(&fixture.store.pool);
    assert_eq!(
        fixture.store.spaces.get(unused).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert_eq!(found(&fixture, ours, &saved), 3);
    writing.seal();
    fixture.store.spaces.free_unused(&fixture.store.pool);
    assert_eq!(fixture.snapshot().spaces.len(), 2);
    drop(held);
}
