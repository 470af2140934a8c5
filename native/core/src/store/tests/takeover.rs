//! A pool that is taken over: its whole blocks are cached again, and nothing else.

use std::collections::HashMap;
use std::fs;

use super::fixture::{Fixture, Hash, MIB, config, geometry, random_hash};
use crate::space::{SpaceId, SpaceKey};
use crate::store::{Reserved, StoreSnapshot, Verify};

fn key(group: u32) -> SpaceKey {
    SpaceKey {
        namespace: [5; 32],
        group,
    }
}

/// Saves `count` blocks of these pages; the bytes of each shard by hash.
pub(super) fn save(
    fixture: &Fixture,
    space: SpaceId,
    shards: u32,
    count: usize,
) -> HashMap<Hash, Vec<Vec<u8>>> {
    let block = |_| {
        let hash = random_hash();
        let shards = (0..shards).map(|shard| fixture.save_shard(space, shard, &hash));
        (hash, shards.collect())
    };
    (0..count).map(block).collect()
}

fn check(fixture: &Fixture, space: SpaceId, saved: &HashMap<Hash, Vec<Vec<u8>>>) {
    for (hash, shards) in saved {
        let hits = fixture.lookup(space, &[*hash]);
        assert_eq!(hits.len(), 1);
        for (shard, bytes) in (0..).zip(shards) {
            hits.verify(0, shard).unwrap();
            assert_eq!(&hits.page(0, shard).unwrap().read(), bytes);
        }
    }
}

#[test]
fn blocks_whose_memory_is_gone_are_misses_also_when_nothing_is_verified() {
    for left in [0, 100, 2 * MIB] {
        let fixture = Fixture::new(16 * MIB);
        let space = fixture.store.space(key(0), geometry(&[70_000])).unwrap();
        let saved = save(&fixture, space, 1, 100);
        let pool = fixture.snapshot().pool.path.unwrap();
        fixture.store.close(false).unwrap();
        let dir = fixture.abandon();
        fs::OpenOptions::new()
            .write(true)
            .open(pool)
            .unwrap()
            .set_len(left)
            .unwrap();

        let mut config = config(dir.path(), 16 * MIB);
        config.verify = Verify::Off;
        let fixture = Fixture::open(dir, config);
        let space = fixture.store.space(key(0), geometry(&[70_000])).unwrap();
        let mut found = 0;
        for (hash, shards) in &saved {
            if let Some(bytes) = fixture.read(space, 0, hash) {
                assert_eq!(bytes, shards[0]);
                found += 1;
            }
        }
        assert!(found < saved.len() as u64);
        assert_eq!(fixture.snapshot().taken_over.unwrap().blocks, found);
    }
}

#[test]
fn a_closed_pool_is_taken_over_with_all_its_spaces() {
    let mut fixture = Fixture::new(16 * MIB);
    let geometries = [geometry(&[5000]), geometry(&[70_000, 300, 4096])];
    let space = |fixture: &Fixture, group: usize| {
        let geometry = geometries[group].clone();
        fixture.store.space(key(group as u32), geometry).unwrap()
    };
    let saved = [
        save(&fixture, space(&fixture, 0), 1, 100),
        save(&fixture, space(&fixture, 1), 3, 20),
    ];
    for _ in 0..3 {
        let before = fixture.snapshot();
        fixture = fixture.reopen(|_| {});
        let snapshot = fixture.snapshot();
        let taken = snapshot.taken_over.unwrap();
        assert_eq!((taken.blocks, taken.bytes), (120, 100 * 5000 + 20 * 74_396));
        let dropped =
            taken.unsealed_pages + taken.pages_without_checksum + taken.bad_records + taken.incomplete_pages;
        assert_eq!(dropped, 0, "{taken:?}");
        assert_eq!(snapshot.pool.used_bytes, before.pool.used_bytes);
        let blocks = |snapshot: &StoreSnapshot| {
            snapshot
                .spaces
                .iter()
                .map(|space| space.blocks)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            blocks(&snapshot),
            blocks(&before)[..2],
            "a space without blocks is forgotten"
        );
        for (group, saved) in saved.iter().enumerate() {
            check(&fixture, space(&fixture, group), saved);
        }
        // Pages of other sizes still find room, and the ones taken over give way.
        let other = fixture.store.space(key(9), geometry(&[MIB])).unwrap();
        assert!(matches!(
            fixture.reserve(other, 0, &random_hash()),
            Reserved::Page(_)
        ));
    }
}

#[test]
fn a_close_says_what_stays_and_a_purge_leaves_nothing() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.space(&[5000]);
    save(&fixture, space, 1, 10);
    let kept = fixture.store.close(false).unwrap();
    assert!(kept >= 4 * MIB, "{kept}");
    assert_eq!(fixture.snapshot().checksums.made, 10);
    let pool_bytes = fixture.snapshot().pool.bytes;
    let dir = fixture.abandon();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    let next = config(dir.path(), pool_bytes);
    let fixture = Fixture::open(dir, next);
    assert_eq!(fixture.snapshot().taken_over.unwrap().blocks, 10);
    assert_eq!(fixture.store.close(true).unwrap(), 0);
    assert_eq!(fs::read_dir(fixture.dir.path()).unwrap().count(), 0);
}

#[test]
fn the_oldest_blocks_go_first_after_a_take_over() {
    let fixture = Fixture::new(4 * MIB);
    let space = fixture.store.space(key(0), geometry(&[64 << 10])).unwrap();
    let saved: Vec<_> = (0..60).map(|_| fixture.save(space).0).collect();
    let fixture = fixture.reopen(|_| {});
    fixture.stop_threads();
    let space = fixture.store.space(key(0), geometry(&[64 << 10])).unwrap();
    for _ in 0..30 {
        fixture.save(space);
    }
    let is_left: Vec<_> = saved
        .iter()
        .map(|hash| !fixture.lookup(space, &[*hash]).is_empty())
        .collect();
    let first_left = is_left.iter().position(|is_left| *is_left).unwrap();
    assert!((26..60).contains(&first_left), "{is_left:?}");
    assert!(
        is_left[first_left..].iter().all(|is_left| *is_left),
        "{is_left:?}"
    );
}
