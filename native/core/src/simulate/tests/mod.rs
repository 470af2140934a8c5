//! Tests of the simulation: against caches that keep everything, and against the bound by trying all choices.

mod answers;
mod robust;
pub(crate) mod workloads;

use proptest::prelude::*;

use super::{Requests, Routing, TierHits, belady, policy, private_pools, tiers};
use crate::eviction::PolicyKind;

/// Requests of prompts that grow by a block or two from few beginnings.
fn requests() -> impl Strategy<Value = Requests> {
    let request = (0..4_u64, 1..6_usize, 0..3_u64);
    prop::collection::vec(request, 1..60).prop_map(|all| {
        let mut requests = Requests::default();
        for (number, (chain, blocks, branch)) in all.into_iter().enumerate() {
            let name = |depth: usize| chain << 32 | if depth < 2 { 0 } else { branch << 16 } | depth as u64;
            let names: Vec<_> = (0..blocks).map(name).collect();
            requests.push(number as u64 * 1_000_000, &names);
        }
        requests
    })
}

/// Blocks that were asked for before with all before them.
fn ceiling(requests: &Requests) -> u64 {
    let mut seen = vec![false; requests.distinct_blocks()];
    let mut hits = 0;
    for request in requests.iter() {
        hits += request
            .blocks
            .iter()
            .take_while(|block| seen[**block as usize])
            .count() as u64;
        request
            .blocks
            .iter()
            .for_each(|block| seen[*block as usize] = true);
    }
    hits
}

proptest! {
    #[test]
    fn a_cache_for_all_blocks_hits_all_that_was_seen_before(requests in requests()) {
        for kind in PolicyKind::ALL {
            prop_assert_eq!(policy(&requests, kind, requests.distinct_blocks()), ceiling(&requests));
        }
        prop_assert_eq!(belady(&requests, requests.distinct_blocks()), ceiling(&requests));
        prop_assert_eq!(requests.known_blocks(), ceiling(&requests));
    }

    #[test]
    fn a_cache_for_no_block_hits_nothing(requests in requests()) {
        for kind in PolicyKind::ALL {
            prop_assert_eq!(policy(&requests, kind, 0), 0);
        }
        prop_assert_eq!(belady(&requests, 0), 0);
    }

    #[test]
    fn no_policy_hits_more_than_the_clairvoyant_one(requests in requests(), capacity in 1..20_usize) {
        for kind in PolicyKind::ALL {
            prop_assert!(policy(&requests, kind, capacity) <= belady(&requests, capacity), "{}", kind.name());
        }
    }

    #[test]
    fn a_disk_for_all_blocks_hits_what_memory_does_not(requests in requests(), capacity in 0..20_usize) {
        let hits = tiers(&requests, PolicyKind::Lru, capacity, requests.distinct_blocks());
        prop_assert_eq!(hits.memory + hits.ssd, ceiling(&requests));
        prop_assert!(hits.memory >= policy(&requests, PolicyKind::Lru, capacity));
    }

    #[test]
    fn without_a_disk_memory_has_its_hits_alone(requests in requests(), capacity in 0..20_usize) {
        let memory = policy(&requests, PolicyKind::Lru, capacity);
        prop_assert_eq!(tiers(&requests, PolicyKind::Lru, capacity, 0), TierHits { memory, ssd: 0 });
    }

    #[test]
    fn one_private_pool_is_the_shared_pool(requests in requests(), capacity in 1..20_usize) {
        for routing in [Routing::RoundRobin, Routing::Sticky] {
            let private = private_pools(&requests, PolicyKind::Lru, capacity, 1, routing);
            prop_assert_eq!(private, policy(&requests, PolicyKind::Lru, capacity));
        }
    }
}

/// What a disk of 256 blocks behind no memory has of 400 that were written in their order, the first `read` of them read once each.
fn left_on_disk(read: u64) -> Vec<u64> {
    let mut requests = Requests::default();
    let blocks = (0..256).chain(0..read).chain(256..400);
    for (now, block) in (0..).zip(blocks) {
        requests.push(now, &[block]);
    }
    let hits = |requests: &Requests| tiers(requests, PolicyKind::Lru, 0, 256).ssd;
    let before = hits(&requests);
    let is_left = |block: &u64| {
        let mut requests = requests.clone();
        requests.push(1000, &[*block]);
        hits(&requests) > before
    };
    (0..400).filter(is_left).collect()
}

#[test]
fn a_disk_lets_go_what_was_written_first() {
    assert_eq!(left_on_disk(0), (144..400).collect::<Vec<_>>());
}

#[test]
fn a_quarter_of_a_segment_stays_on_disk_when_it_was_read() {
    let left = left_on_disk(256);
    let kept: Vec<_> = left.iter().copied().filter(|block| *block < 144).collect();
    // The first block of each segment of four; those take the room of others.
    assert!(kept.len() >= 36, "{kept:?}");
    assert!(kept.iter().all(|block| block % 4 == 0), "{kept:?}");
}

#[test]
fn a_sticky_router_finds_the_prefixes_that_round_robin_leaves_elsewhere() {
    let mut requests = Requests::default();
    for turn in 0..4 {
        // Three conversations and two instances: each conversation's turns come to both instances alternately.
        for conversation in 1..4 {
            let names: Vec<_> = (0..=turn + 1).map(|depth| conversation << 32 | depth).collect();
            requests.push(turn, &names);
        }
    }
    let hits = |routing| private_pools(&requests, PolicyKind::Lru, 1000, 2, routing);
    assert_eq!(hits(Routing::Sticky), ceiling(&requests));
    assert!(hits(Routing::RoundRobin) < ceiling(&requests));
}
