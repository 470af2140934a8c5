//! Which blocks are written.

use super::*;

#[test]
fn only_what_was_found_again_is_written_when_that_is_asked_for() {
    let reused = |config: &mut TierConfig| config.admission = Admission::Reused;
    let (tiers, key) = (Tiers::with(32 * MIB, reused), key());
    let space = tiers.space(key, &[PAGE]);
    let blocks = tiers.save(space, 1, 40);
    tiers.fixture.wait_for_checksums(40);
    drop(tiers.lookup(space, &hashes(&blocks[..15])));
    tiers.flush();
    assert_eq!(tiers.tier().ssd.blocks, 15);
    let tiers = tiers.restart_with(32 * MIB, reused);
    let space = tiers.space(key, &[PAGE]);
    check_bytes(&tiers.lookup(space, &hashes(&blocks)), &blocks[..15]);
}

#[test]
fn a_flush_of_all_writes_what_admission_leaves_and_what_is_copied_can_be_evicted() {
    let reused = |config: &mut TierConfig| config.admission = Admission::Reused;
    let (tiers, key) = (Tiers::with(32 * MIB, reused), key());
    let space = tiers.space(key, &[PAGE]);
    let blocks = tiers.save(space, 1, 40);
    tiers.fixture.wait_for_checksums(40);
    tiers.try_flush(Flush::All).unwrap();
    assert_eq!(tiers.tier().ssd.blocks, 40);
    let later = tiers.save(space, 1, 10);
    tiers.fixture.wait_for_checksums(50);
    let evicted = tiers.fixture.store.evict_copied(&Progress::default()).unwrap();
    assert_eq!((evicted.blocks, evicted.kept_blocks), (40, 10));
    for blocks in [blocks, later] {
        check_bytes(&tiers.lookup(space, &hashes(&blocks)), &blocks);
    }
}

#[test]
fn a_flush_says_what_no_path_has_room_for_and_it_stays_in_memory() {
    let (tiers, key) = (Tiers::new(64 * MIB), key());
    // Its segments have 4 MiB.
    let space = tiers.space(key, &[PAGE * 12; 8]);
    tiers.save(space, 8, 3);
    let error = tiers.try_flush(Flush::All).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.message().contains("blocks could not be written"), "{error}");
    let state = tiers.tier().ssd.paths[0].state.clone();
    assert!(
        state.reason().is_some_and(|reason| reason.contains("larger")),
        "{state:?}"
    );
    let evicted = tiers.fixture.store.evict_copied(&Progress::default()).unwrap();
    assert_eq!((evicted.blocks, evicted.kept_blocks), (0, 3));
}

#[test]
fn a_flush_counts_what_a_smaller_ssd_has_no_room_for_and_a_second_one_writes_nothing() {
    let small = |config: &mut TierConfig| {
        config.ssd.paths[0].capacity = crate::ssd::MIN_CAPACITY;
        config.admission = Admission::Reused;
    };
    let count = (4 * crate::ssd::MIN_CAPACITY / PAGE) as usize;
    let (tiers, key) = (Tiers::with(8 * crate::ssd::MIN_CAPACITY, small), key());
    let space = tiers.space(key, &[PAGE]);
    tiers.save(space, 1, count);
    tiers.fixture.wait_for_checksums(count as u64);
    let first = tiers.try_flush(Flush::All).unwrap();
    let on_ssd = tiers.tier().ssd.blocks;
    assert!(on_ssd > 0);
    assert_eq!(first.copied_blocks, on_ssd, "{first:?}");
    assert_eq!(first.copied_bytes, on_ssd * PAGE);
    assert_eq!(first.no_room_blocks, count as u64 - on_ssd, "{first:?}");
    let second = tiers.try_flush(Flush::All).unwrap();
    assert_eq!((second.written_blocks, second.copied_blocks), (0, on_ssd));
    assert_eq!(second.no_room_blocks, first.no_room_blocks);
    let evicted = tiers.fixture.store.evict_copied(&Progress::default()).unwrap();
    assert_eq!(
        (evicted.blocks, evicted.kept_blocks),
        (on_ssd, first.no_room_blocks)
    );
}
