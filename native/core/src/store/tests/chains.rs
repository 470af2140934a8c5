//! The policy's order of chains holds in the store: what follows goes before what it follows.

use proptest::prelude::*;

use super::fixture::{Fixture, Hash, MIB, random_hash};
use crate::eviction::PolicyKind;
use crate::progress::Progress;
use crate::space::SpaceId;
use crate::store::Reserved;

const PAGE: u64 = 4096;

fn evict(fixture: &Fixture, blocks: u64) {
    let bytes = Some(blocks * PAGE);
    fixture.store.evict_memory(bytes, &Progress::default()).unwrap();
}

/// Saves blocks of a chain in this order, or offers them again.
fn save(fixture: &Fixture, space: SpaceId, chain: &[Hash], order: &[usize]) {
    for &at in order {
        let after = at.checked_sub(1).map(|before| chain[before].as_slice());
        let reserved = fixture.store.reserve(space, 0, &chain[at], after).unwrap();
        if let Reserved::Page(writer) = reserved {
            writer.seal();
        }
    }
}

fn assert_they_go_from_the_end(fixture: &Fixture, space: SpaceId, chain: &[Hash]) {
    for left in (0..chain.len()).rev() {
        evict(fixture, 1);
        let kept = chain.iter().filter(|hash| fixture.read(space, 0, hash).is_some());
        assert_eq!(kept.count(), left);
        assert!(left == 0 || fixture.read(space, 0, &chain[left - 1]).is_some());
    }
}

#[test]
fn the_end_of_a_prompt_goes_before_its_beginning() {
    let fixture = Fixture::quiet(4 * MIB, PolicyKind::default());
    let space = fixture.space(&[PAGE]);
    let prompt: Vec<Hash> = (0..20).map(|_| random_hash()).collect();
    assert_eq!(fixture.lookup(space, &prompt).len(), 0);
    for hash in &prompt {
        fixture.save_shard(space, 0, hash);
    }
    for (gone, left) in [(1, 19), (7, 12), (7, 5)] {
        evict(&fixture, gone);
        assert_eq!(fixture.lookup(space, &prompt).len(), left);
    }
}

proptest! {
    #[test]
    fn an_answer_that_nobody_asked_for_goes_from_its_end_whatever_order_it_came_in(
        order in Just((0..12_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let fixture = Fixture::quiet(4 * MIB, PolicyKind::default());
        let space = fixture.space(&[PAGE]);
        let answer: Vec<Hash> = order.iter().map(|_| random_hash()).collect();
        save(&fixture, space, &answer, &order);
        assert_they_go_from_the_end(&fixture, space, &answer);
    }
}

#[test]
fn blocks_that_are_offered_again_take_their_places_in_their_chain() {
    let fixture = Fixture::quiet(4 * MIB, PolicyKind::default());
    let space = fixture.space(&[PAGE]);
    let chain: Vec<Hash> = (0..9).map(|_| random_hash()).collect();
    for hash in &chain {
        fixture.save_shard(space, 0, hash);
    }
    save(&fixture, space, &chain, &[5, 1, 8, 2, 7, 6, 3, 4, 0]);
    assert_they_go_from_the_end(&fixture, space, &chain);
}
