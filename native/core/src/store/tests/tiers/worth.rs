//! Blocks are fetched when that is faster than to compute them.

use super::*;

#[test]
fn what_is_computed_faster_is_a_miss_and_counted() {
    let (tiers, key) = (Tiers::new(32 * MIB), key());
    let space = tiers.space(key, &[PAGE]);
    let blocks = tiers.save(space, 1, 40);
    let tiers = tiers.restart(32 * MIB);
    let space = tiers.space(key, &[PAGE]);
    let (first, rest) = blocks.split_at(10);
    // Nothing is known of the disk yet: whatever computing takes, the blocks are fetched.
    let hits = match tiers.begin(space, &hashes(first), Some(Duration::from_nanos(1))) {
        Found::Ready(hits) => hits,
        Found::Pending(pending) => wait(pending),
    };
    check_bytes(&hits, first);
    assert!(tiers.tier().rate.read > 0.0);

    let all: Vec<_> = hashes(first).into_iter().chain(hashes(rest)).collect();
    let Found::Ready(hits) = tiers.begin(space, &all, Some(Duration::from_nanos(1))) else {
        panic!("nothing is worth it");
    };
    assert_eq!((hits.hits.len(), hits.ssd_blocks), (10, 0));
    assert_eq!(tiers.fetches().declined, 30);
    assert_eq!(tiers.fetches().blocks, 10);

    let hits = match tiers.begin(space, &all, Some(Duration::from_secs(1))) {
        Found::Ready(hits) => hits,
        Found::Pending(pending) => wait(pending),
    };
    check_bytes(&hits, &blocks);
    assert_eq!(tiers.fetches().declined, 30);
}

#[test]
fn without_a_benefit_asked_for_all_is_fetched() {
    let (tiers, key) = (Tiers::new(32 * MIB), key());
    let space = tiers.space(key, &[PAGE]);
    let blocks = tiers.save(space, 1, 40);
    let tiers = tiers.restart_with(32 * MIB, |config| config.min_benefit = 0.0);
    let space = tiers.space(key, &[PAGE]);
    for part in blocks.chunks(10) {
        let hits = match tiers.begin(space, &hashes(part), Some(Duration::from_nanos(1))) {
            Found::Ready(hits) => hits,
            Found::Pending(pending) => wait(pending),
        };
        check_bytes(&hits, part);
    }
    assert_eq!(tiers.fetches().declined, 0);
}
