//! What status and metrics show is what there is.

use super::fixture::{Fixture, MIB, geometry, random_hash};
use crate::space::SpaceKey;
use crate::store::Reserved;

#[test]
fn blocks_and_bytes_are_counted_for_each_namespace() {
    let fixture = Fixture::new(8 * MIB);
    let spaces = [fixture.space(&[5000]), fixture.space(&[4096, 100])];
    for _ in 0..10 {
        fixture.save(spaces[0]);
    }
    let hash = random_hash();
    fixture.save_shard(spaces[1], 0, &hash);
    fixture.save_shard(spaces[1], 1, &hash);
    let snapshot = fixture.snapshot();
    let counts: Vec<_> = snapshot
        .spaces
        .iter()
        .map(|space| (space.blocks, space.bytes, space.admissions))
        .collect();
    assert_eq!(counts, [(10, 50_000, 10), (1, 4196, 1)]);
    assert_eq!(snapshot.pool.used_bytes, 10 * 8192 + 2 * 4096);
}

#[test]
fn a_duplicate_changes_no_count() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[5000, 5000]);
    let hash = random_hash();
    fixture.save_shard(space, 0, &hash);
    assert!(matches!(fixture.reserve(space, 0, &hash), Reserved::Present));
    fixture.save_shard(space, 1, &hash);
    let before = fixture.snapshot();
    for shard in [0, 1, 0, 1] {
        assert!(matches!(fixture.reserve(space, shard, &hash), Reserved::Present));
    }
    let after = fixture.snapshot();
    assert_eq!(after.pool.used_bytes, before.pool.used_bytes);
    assert_eq!((after.spaces[0].blocks, after.spaces[0].admissions), (1, 1));
    assert_eq!((after.in_flight_pages, after.no_space), (0, 0));
}

#[test]
fn spaces_are_listed_by_key_in_the_order_in_which_they_were_made() {
    let fixture = Fixture::new(4 * MIB);
    let keys: Vec<_> = (0..5)
        .map(|group| SpaceKey {
            namespace: random_hash(),
            group,
        })
        .collect();
    for key in &keys {
        fixture.store.space(*key, geometry(&[4096])).unwrap();
    }
    assert_eq!(
        fixture
            .snapshot()
            .spaces
            .iter()
            .map(|space| space.key)
            .collect::<Vec<_>>(),
        keys
    );
}

#[test]
fn the_snapshot_says_where_the_pool_is() {
    let fixture = Fixture::new(4 * MIB + 17);
    let pool = fixture.snapshot().pool;
    assert_eq!(
        (pool.bytes, pool.ready_bytes, pool.slab_bytes),
        (4 * MIB, 4 * MIB, MIB)
    );
    assert_eq!(pool.path.unwrap().parent(), Some(fixture.dir.path()));
    assert_eq!((pool.degraded, pool.fallback), (None, None));
}

#[test]
fn dropping_a_store_without_pages_removes_its_files() {
    let Fixture { store, dir } = Fixture::new(4 * MIB);
    assert_eq!(dir.path().read_dir().unwrap().count(), 2);
    drop(store);
    super::fixture::eventually("no file is left", || dir.path().read_dir().unwrap().count() == 0);
}
