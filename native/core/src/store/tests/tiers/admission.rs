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
