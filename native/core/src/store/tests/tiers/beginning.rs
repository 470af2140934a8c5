//! A store whose ssd tier begins while it works.

use super::*;
use crate::store::Evicted;

/// Settings of a tier in this directory of the disk.
fn tier_at(disk: &Path, name: &str) -> TierConfig {
    let mut config = tier(disk);
    config.ssd.paths[0].dir = disk.join(name);
    config
}

fn without_tier(pool_bytes: u64) -> Tiers {
    Tiers {
        fixture: Fixture::with(pool_bytes, |_| {}),
        disk: TempDir::new().unwrap(),
    }
}

/// Paths that the tier has.
fn paths(tiers: &Tiers) -> usize {
    tiers.tier().ssd.paths.len()
}

fn evict_all(tiers: &Tiers) -> Evicted {
    let store = &tiers.fixture.store;
    store.evict_memory(None, &Progress::default()).unwrap()
}

#[test]
fn the_first_path_begins_it_and_what_was_saved_before_is_written_too() {
    let tiers = without_tier(32 * MIB);
    let store = &tiers.fixture.store;
    assert!(store.ssd().is_none() && store.tier_snapshot().is_none());
    let space = tiers.space(key(), &[PAGE, 20_000]);
    let mut blocks = tiers.save(space, 2, 20);
    assert_eq!(tiers.lookup(space, &hashes(&blocks)).ssd_blocks, 0);
    store.add_ssd_paths(tier_at(tiers.disk.path(), "a")).unwrap();
    blocks.extend(tiers.save(space, 2, 20));
    tiers.flush();
    assert_eq!(evict_all(&tiers).blocks, 40);
    let hits = tiers.lookup(space, &hashes(&blocks));
    assert_eq!(hits.ssd_blocks, 40);
    check_bytes(&hits, &blocks);
    drop(hits);
    tiers.check_idle();
}

#[test]
fn a_path_that_cannot_be_begins_nothing() {
    let tiers = without_tier(8 * MIB);
    let store = &tiers.fixture.store;
    std::fs::write(tiers.disk.path().join("file"), "").unwrap();
    let refused = store
        .add_ssd_paths(tier_at(tiers.disk.path(), "file"))
        .unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Config);
    assert!(store.ssd().is_none());
    store.add_ssd_paths(tier_at(tiers.disk.path(), "a")).unwrap();
    let again = store.add_ssd_paths(tier_at(tiers.disk.path(), "a")).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Conflict);
    assert_eq!(paths(&tiers), 1);
}

#[test]
fn paths_that_are_added_at_once_are_all_of_one_tier() {
    let tiers = without_tier(8 * MIB);
    std::thread::scope(|scope| {
        for name in ["a", "b", "c", "d"] {
            let (store, config) = (&tiers.fixture.store, tier_at(tiers.disk.path(), name));
            scope.spawn(move || store.add_ssd_paths(config).unwrap());
        }
    });
    assert_eq!(paths(&tiers), 4);
}

#[test]
fn a_closed_store_begins_none() {
    let tiers = without_tier(8 * MIB);
    let store = &tiers.fixture.store;
    store.close(true).unwrap();
    let refused = store.add_ssd_paths(tier_at(tiers.disk.path(), "a")).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert!(store.ssd().is_none() && !tiers.disk.path().join("a").exists());
}
