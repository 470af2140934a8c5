//! What is saved without having been asked for, as an answer's blocks are, stays as what was used last does.

use super::fixture::{Fixture, Hash, MIB};
use crate::eviction::PolicyKind;
use crate::space::SpaceId;

const PAGE: u64 = 16 << 10;
const POOL: u64 = 8 * MIB;
const BLOCKS: usize = (POOL / PAGE) as usize;

/// W-TinyLFU lets what is new go before what is old and was used as often.
const KEEP_WHAT_IS_NEW: [PolicyKind; 5] = [
    PolicyKind::Lru,
    PolicyKind::S3Fifo,
    PolicyKind::Sieve,
    PolicyKind::Arc,
    PolicyKind::Density,
];
/// The others divide the pool between what is new and what was used again, and may leave the new little of it.
const LEAVE_ROOM_FOR_WHAT_IS_NEW: [PolicyKind; 2] = [PolicyKind::Lru, PolicyKind::Density];

fn save(fixture: &Fixture, space: SpaceId, blocks: usize) -> Vec<Hash> {
    (0..blocks).map(|_| fixture.save(space).0).collect()
}

fn assert_cached(fixture: &Fixture, space: SpaceId, hashes: &[Hash], policy: PolicyKind) {
    assert_eq!(
        fixture.lookup(space, hashes).len(),
        hashes.len(),
        "{}",
        policy.name()
    );
}

#[test]
fn the_newest_half_of_a_pool_is_cached_when_nothing_was_asked_for() {
    for policy in KEEP_WHAT_IS_NEW {
        let fixture = Fixture::with_policy(POOL, policy);
        let space = fixture.space(&[PAGE]);
        let saved = save(&fixture, space, 3 * BLOCKS);
        let newest = &saved[saved.len() - BLOCKS / 2..];
        assert_cached(&fixture, space, newest, policy);
    }
}

#[test]
fn what_a_new_space_saves_into_a_full_pool_is_cached() {
    for policy in KEEP_WHAT_IS_NEW {
        let fixture = Fixture::with_policy(POOL, policy);
        let old = fixture.space(&[PAGE]);
        for _ in 0..6 {
            let prompt = save(&fixture, old, BLOCKS / 4);
            fixture.lookup(old, &prompt);
        }
        let new = fixture.space(&[PAGE]);
        let saved = save(&fixture, new, BLOCKS / 2);
        assert_cached(&fixture, new, &saved, policy);
    }
}

#[test]
fn what_was_just_saved_is_found_round_after_round() {
    for policy in LEAVE_ROOM_FOR_WHAT_IS_NEW {
        let fixture = Fixture::with_policy(POOL, policy);
        let space = fixture.space(&[PAGE]);
        for round in 0..100 {
            let saved = save(&fixture, space, 1 + round % (BLOCKS / 4));
            assert_eq!(
                fixture.lookup(space, &saved).len(),
                saved.len(),
                "{}, round {round}",
                policy.name()
            );
        }
    }
}
