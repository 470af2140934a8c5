//! What is saved gets to the disk, and nothing waits for that.

use super::*;

#[test]
fn a_purged_pool_is_on_ssd_after_a_flush() {
    let (tiers, key) = (Tiers::new(32 * MIB), key());
    let space = tiers.space(key, &[PAGE, 20_000]);
    let blocks = tiers.save(space, 2, 50);
    let tiers = tiers.restart(32 * MIB);
    let space = tiers.space(key, &[PAGE, 20_000]);
    let hits = tiers.lookup(space, &hashes(&blocks));
    assert_eq!(hits.ssd_blocks, 50);
    check_bytes(&hits, &blocks);
    drop(hits);
    // They are in memory now, and written once.
    let hits = tiers.lookup(space, &hashes(&blocks));
    assert_eq!(hits.ssd_blocks, 0);
    check_bytes(&hits, &blocks);
    drop(hits);
    tiers.check_idle();
    assert_eq!(tiers.tier().writes.blocks, 0);
}

#[test]
fn more_than_the_pool_holds_is_found_again() {
    let (tiers, key) = (Tiers::new(8 * MIB), key());
    let space = tiers.space(key, &[PAGE]);
    let mut blocks = Vec::new();
    for _ in 0..40 {
        blocks.extend(tiers.save(space, 1, 10));
        // The disk is not slower than this, so nothing is evicted before its turn.
        tiers.flush();
    }
    for part in blocks.chunks(10) {
        let hits = tiers.lookup(space, &hashes(part));
        assert_eq!(hits.hits.len(), 10, "{:?}", tiers.tier());
        check_bytes(&hits, part);
    }
    assert!(tiers.fetches().blocks >= 400 - 8 * MIB / PAGE);
    tiers.check_idle();
}

#[test]
fn each_block_is_written_once_however_often_it_is_offered() {
    let (tiers, key) = (Tiers::new(32 * MIB), key());
    let space = tiers.space(key, &[PAGE]);
    tiers.save(space, 1, 30);
    tiers.flush();
    tiers.flush();
    let tiers = Tiers {
        fixture: tiers.fixture.reopen({
            let config = tier(tiers.disk.path());
            |store| store.tier = Some(config)
        }),
        disk: tiers.disk,
    };
    tiers.flush();
    assert_eq!(tiers.fixture.snapshot().taken_over.unwrap().blocks, 30);
    assert_eq!((tiers.tier().writes.blocks, tiers.tier().ssd.blocks), (0, 30));
}

#[test]
fn a_pool_that_was_taken_over_is_written() {
    let disk = TempDir::new().unwrap();
    let fixture = Fixture::new(32 * MIB);
    let space = fixture.space(&[PAGE]);
    for _ in 0..30 {
        fixture.save(space);
    }
    fixture.wait_for_checksums(30);
    let config = tier(disk.path());
    let fixture = fixture.reopen(|store| store.tier = Some(config));
    let tiers = Tiers { fixture, disk };
    eventually("what was taken over is on ssd", || tiers.tier().ssd.blocks == 30);
}

#[test]
fn a_block_that_is_evicted_before_its_turn_is_counted() {
    let (tiers, key) = (Tiers::new(8 * MIB), key());
    let space = tiers.space(key, &[PAGE]);
    tiers.save(space, 1, 2_000);
    tiers.flush();
    let writes = tiers.tier().writes;
    let written = writes.blocks + writes.evicted;
    // Blocks whose checksum was not made in time were never offered.
    assert!(written <= 2_000, "{writes:?}");
    assert_eq!(tiers.tier().ssd.blocks, writes.blocks);
    tiers.check_idle();
}
