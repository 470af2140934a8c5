//! Lookups across tiers: one fetch a block, none that nobody waits for, and the prefix as far as it can be had.

use std::thread;

use super::*;
use crate::ssd::{Call, Faults};

const BLOCKS: usize = 60;

/// A store whose blocks are all on ssd and not in the pool.
fn on_ssd(pool_bytes: u64, change: impl FnOnce(&mut TierConfig)) -> (Tiers, SpaceId, Blocks) {
    let (tiers, key) = (Tiers::new(32 * MIB), key());
    let space = tiers.space(key, &[PAGE]);
    let blocks = tiers.save(space, 1, BLOCKS);
    let tiers = tiers.restart_with(pool_bytes, change);
    let space = tiers.space(key, &[PAGE]);
    (tiers, space, blocks)
}

/// The same on a disk that answers no read until it is set to, from which one block is fetched at a time.
fn on_waiting_ssd(disk: &Disk) -> (Tiers, SpaceId, Blocks) {
    let tiers = Tiers::on_failing_with(disk, 32 * MIB, |config| config.fetch_bytes = 1);
    let space = tiers.space(key(), &[PAGE]);
    let blocks = tiers.save(space, 1, BLOCKS);
    tiers.flush();
    let store = &tiers.fixture.store;
    let evicted = store.evict_memory(None, &Progress::default()).unwrap();
    assert_eq!(evicted.blocks, BLOCKS as u64);
    disk.set(Faults {
        hangs: Some(Call::Read),
        ..Faults::default()
    });
    (tiers, space, blocks)
}

fn begin(tiers: &Tiers, space: SpaceId, blocks: &Blocks) -> PendingLookup {
    match tiers.begin(space, &hashes(blocks), None) {
        Found::Pending(pending) => pending,
        Found::Ready(_) => panic!("the disk has not answered"),
    }
}

#[test]
fn a_prefix_may_be_of_both_tiers() {
    let (tiers, space, blocks) = on_ssd(32 * MIB, |_| {});
    for range in [5..10, 30..31] {
        drop(tiers.lookup(space, &hashes(&blocks[range])));
    }
    let hits = tiers.lookup(space, &hashes(&blocks));
    assert_eq!((hits.hits.len(), hits.ssd_blocks), (BLOCKS, BLOCKS - 6));
    check_bytes(&hits, &blocks);
    drop(hits);
    let snapshot = tiers.fixture.snapshot();
    assert_eq!(
        (snapshot.spaces[0].hits, snapshot.spaces[0].misses),
        (BLOCKS as u64 + 6, 0)
    );
    tiers.check_idle();
}

#[test]
fn a_miss_ends_the_prefix_and_nothing_behind_it_is_fetched() {
    let (tiers, space, blocks) = on_ssd(32 * MIB, |_| {});
    let mut wanted = hashes(&blocks);
    wanted[20] = super::super::fixture::random_hash();
    let hits = tiers.lookup(space, &wanted);
    assert_eq!((hits.hits.len(), hits.ssd_blocks), (20, 20));
    assert_eq!(tiers.fetches().blocks, 20);
    let space = &tiers.fixture.snapshot().spaces[0];
    assert_eq!((space.hits, space.misses), (20, BLOCKS as u64 - 20));
}

#[test]
fn lookups_of_the_same_blocks_fetch_each_once() {
    let (tiers, space, blocks) = on_ssd(32 * MIB, |_| {});
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| check_bytes(&tiers.lookup(space, &hashes(&blocks)), &blocks));
        }
    });
    assert_eq!(tiers.fetches().blocks, BLOCKS as u64);
    tiers.check_idle();
}

#[test]
fn one_block_at_a_time_is_on_its_way_when_no_more_may_be() {
    let disk = Disk::default();
    let (tiers, space, blocks) = on_waiting_ssd(&disk);
    let mut pending = begin(&tiers, space, &blocks);
    eventually("one is on its way", || tiers.fetches().in_flight_bytes > 0);
    assert_eq!(tiers.fetches().in_flight_bytes, PAGE);
    disk.set(Faults::default());
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_ready(&mut pending) {
        assert!(tiers.fetches().in_flight_bytes <= PAGE);
        assert!(Instant::now() < deadline);
    }
    check_bytes(&pending.finish(), &blocks);
    tiers.check_idle();
}

#[test]
fn a_lookup_that_nobody_waits_for_fetches_no_more() {
    let disk = Disk::default();
    let (tiers, space, blocks) = on_waiting_ssd(&disk);
    drop(begin(&tiers, space, &blocks));
    disk.set(Faults::default());
    tiers.check_idle();
    let fetches = tiers.fetches();
    // The one that was on its way may have come.
    assert!(fetches.blocks <= 1, "{fetches:?}");
    assert_eq!(fetches.cancelled + fetches.blocks, BLOCKS as u64);
    // And the next one is served.
    check_bytes(&tiers.lookup(space, &hashes(&blocks)), &blocks);
}

#[test]
fn a_lookup_that_somebody_else_waits_for_too_goes_on() {
    let disk = Disk::default();
    let (tiers, space, blocks) = on_waiting_ssd(&disk);
    let [first, second] = [(); 2].map(|()| begin(&tiers, space, &blocks));
    drop(first);
    disk.set(Faults::default());
    check_bytes(&wait(second), &blocks);
    assert_eq!(tiers.fetches().blocks, BLOCKS as u64);
    tiers.check_idle();
}

#[test]
fn a_lookup_that_ends_early_has_the_prefix_that_came() {
    let disk = Disk::default();
    let (tiers, space, blocks) = on_waiting_ssd(&disk);
    let pending = begin(&tiers, space, &blocks);
    // All of them take a quarter of a minute.
    disk.set(Faults {
        delay: Duration::from_millis(250),
        ..Faults::default()
    });
    eventually("some came", || tiers.fetches().blocks > 0);
    let hits = pending.finish();
    let found = hits.hits.len();
    assert!(found > 0 && found < BLOCKS);
    check_bytes(&hits, &blocks[..found]);
    drop(hits);
    disk.set(Faults::default());
    tiers.check_idle();
}

#[test]
fn what_the_pool_has_no_room_for_is_a_miss() {
    // Half of them fit.
    let (tiers, space, blocks) = on_ssd(2 * MIB, |_| {});
    // Each time room has to be made, and a block that just came is the first that nobody has pinned yet.
    for round in 0..50 {
        let hits = tiers.lookup(space, &hashes(&blocks));
        let found = hits.hits.len();
        assert!(found > 0 && found < BLOCKS, "round {round}: {found}");
        check_bytes(&hits, &blocks[..found]);
        assert!(tiers.fetches().no_room > round);
        drop(hits);
        tiers.check_idle();
        tiers
            .fixture
            .store
            .evict_memory(None, &Progress::default())
            .unwrap();
    }
}

#[test]
fn a_block_that_is_being_saved_is_not_fetched() {
    let (tiers, space, blocks) = on_ssd(32 * MIB, |_| {});
    let writer = tiers.fixture.writer(space, 0, &blocks[3].0);
    let hits = tiers.lookup(space, &hashes(&blocks));
    assert_eq!(hits.hits.len(), 3);
    assert_eq!(tiers.fetches().busy, 1);
    writer.page().write(&blocks[3].1[0]);
    writer.seal();
    check_bytes(&tiers.lookup(space, &hashes(&blocks)), &blocks);
}
