//! What is expected to be of use soon stays, and the end of a chain goes before its beginning.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::eviction::{EvictionPolicy, Kept, PolicyKind, Predecessor, Token};
use crate::index::BlockId;

const SECOND: u64 = 1_000_000;

/// A cache whose blocks' names tell their fingerprints.
struct Cache {
    policy: Box<dyn EvictionPolicy>,
    tokens: BTreeMap<u32, Token>,
    capacity: usize,
    now: u64,
    /// Blocks that a request did not find are saved with the block that each of them follows.
    says_what_follows: bool,
}

/// Spread over all numbers, as hashes are.
fn fingerprint(block: u32) -> u32 {
    block.wrapping_mul(0x9e37_79b1)
}

impl Cache {
    fn new(kind: PolicyKind, capacity: usize) -> Self {
        Self {
            policy: kind.build(),
            tokens: BTreeMap::new(),
            capacity,
            now: 0,
            says_what_follows: false,
        }
    }

    /// Hits of a request, whose other blocks are cached afterwards.
    fn serve(&mut self, chain: &[u32]) -> usize {
        let hits: Vec<_> = chain
            .iter()
            .map_while(|block| self.tokens.get(block).copied())
            .collect();
        let misses = &chain[hits.len()..];
        let fingerprints: Vec<_> = misses.iter().map(|block| fingerprint(*block)).collect();
        self.policy.request(&hits, &fingerprints, self.now);
        for at in hits.len()..chain.len() {
            let before = at.checked_sub(1).filter(|_| self.says_what_follows);
            self.keep(before.map(|before| chain[before]), chain[at]);
        }
        self.shrink();
        hits.len()
    }

    /// Caches a block that nobody asked for.
    fn save(&mut self, block: u32) {
        self.keep(None, block);
        self.shrink();
    }

    /// Makes sure that a block is cached, which follows another.
    fn keep(&mut self, after: Option<u32>, block: u32) {
        let after = after.map(|after| Predecessor {
            fingerprint: fingerprint(after),
            kept: self.tokens.get(&after).map(|token| Kept {
                token: *token,
                block: BlockId(after),
            }),
        });
        let fingerprint = fingerprint(block);
        if let Some(token) = self.tokens.get(&block) {
            self.policy.present(*token, fingerprint, after, self.now);
            return;
        }
        let token = self.policy.insert(BlockId(block), fingerprint, after, self.now);
        self.tokens.insert(block, token);
    }

    fn shrink(&mut self) {
        while self.tokens.len() > self.capacity {
            self.evict();
        }
    }

    fn evict(&mut self) -> u32 {
        let block = self.policy.victim().unwrap().0;
        let token = self.tokens.remove(&block).unwrap();
        self.policy.remove(token, fingerprint(block));
        block
    }
}

/// Prompts that share their first blocks with others, each some seconds after the one before.
fn prompts() -> impl Strategy<Value = Vec<(u64, Vec<u32>)>> {
    let prompt = (0..8_u32, 1..12_u32, 0..3_u32, 0..100_u64);
    let prompt = prompt.prop_map(|(chain, blocks, branch, wait)| {
        let block = |depth| chain << 16 | if depth < 4 { 0 } else { branch + 1 } << 8 | depth;
        (wait * SECOND, (0..blocks).map(block).collect())
    });
    prop::collection::vec(prompt, 1..80)
}

/// The block that one of a prompt follows.
fn before(block: u32) -> Option<u32> {
    let (depth, branch) = (block & 0xff, block >> 8 & 0xff);
    match depth {
        0 => None,
        4 => Some(block & !0xffff | 3),
        _ => Some(block & !0xffff | branch << 8 | (depth - 1)),
    }
}

/// Of two blocks of a chain of which both were there, the first is if the second is.
fn check_chains(cache: &Cache) -> Result<(), TestCaseError> {
    for block in cache.tokens.keys() {
        let is_first_kept = before(*block).is_none_or(|before| cache.tokens.contains_key(&before));
        prop_assert!(is_first_kept, "{block:x} is left, and what it follows is not");
    }
    Ok(())
}

proptest! {
    #[test]
    fn what_is_left_of_a_chain_is_always_a_prefix(prompts in prompts()) {
        let mut cache = Cache::new(PolicyKind::Density, 30);
        for (wait, prompt) in prompts {
            cache.now += wait;
            cache.serve(&prompt);
            check_chains(&cache)?;
        }
    }

    #[test]
    fn who_saves_says_no_more_of_chains_than_who_asked(prompts in prompts()) {
        let mut by_lookup = Cache::new(PolicyKind::Density, 30);
        let mut by_save = Cache::new(PolicyKind::Density, 30);
        by_save.says_what_follows = true;
        for (wait, prompt) in prompts {
            for cache in [&mut by_lookup, &mut by_save] {
                cache.now += wait;
                cache.serve(&prompt);
            }
            prop_assert_eq!(&by_lookup.tokens, &by_save.tokens);
        }
        while !by_lookup.tokens.is_empty() {
            prop_assert_eq!(by_lookup.evict(), by_save.evict());
        }
    }

    #[test]
    fn what_is_left_of_chains_that_nobody_asked_for_is_a_prefix(
        (prompts, seed) in (prompts(), any::<u32>()),
    ) {
        let mut cache = Cache::new(PolicyKind::Density, 40);
        for (wait, mut prompt) in prompts {
            cache.now += wait;
            // In any order, as ranks and batches have it.
            prompt.sort_by_key(|block| fingerprint(block ^ seed));
            for block in prompt {
                cache.keep(before(block), block);
            }
            cache.shrink();
            check_chains(&cache)?;
        }
    }
}

#[test]
fn a_loop_that_does_not_fit_hits_with_all_that_fits() {
    let mut cache = Cache::new(PolicyKind::Density, 500);
    let mut late_hits = 0;
    for round in 0..40 {
        for block in 0..1000 {
            cache.now += SECOND / 10;
            let hits = cache.serve(&[block]);
            late_hits += if round >= 30 { hits } else { 0 };
        }
    }
    assert!(
        late_hits > 4000,
        "{late_hits} hits of 10000, of which half would fit"
    );
}

#[test]
fn a_workload_for_which_recency_is_right_loses_little() {
    let requests = || {
        let mut recent: Vec<u32> = Vec::new();
        let mut random = 1_u32;
        (0..40_000_u32).map(move |number| {
            random = random.wrapping_mul(0x915f_77f5).wrapping_add(0x9e37_79b1);
            // Distances in the order of last use that few large ones are among.
            let distance = (random >> 16).leading_zeros() as usize * 40 + (random >> 8 & 31) as usize;
            let block = match recent.len().checked_sub(distance + 1) {
                Some(at) if !random.is_multiple_of(5) => recent.remove(at),
                _ => number,
            };
            recent.push(block);
            block
        })
    };
    let hits = |kind| {
        let mut cache = Cache::new(kind, 400);
        let served = requests().map(|block| {
            cache.now += SECOND / 50;
            cache.serve(&[block])
        });
        served.sum::<usize>()
    };
    let (density, lru) = (hits(PolicyKind::Density), hits(PolicyKind::Lru));
    assert!(density * 100 >= lru * 98, "{density} hits, {lru} of LRU");
}

#[test]
fn blocks_of_a_take_over_go_oldest_first_until_something_is_known() {
    let mut cache = Cache::new(PolicyKind::Density, usize::MAX);
    for block in 0..100 {
        let token = cache
            .policy
            .insert(BlockId(block), fingerprint(block), None, u64::from(block));
        cache.tokens.insert(block, token);
    }
    let gone: Vec<_> = (0..50).map(|_| cache.evict()).collect();
    assert_eq!(gone, (0..50).collect::<Vec<_>>());
}

/// Prompts of 40 blocks that fill a cache of 400 again and again; some are sent a second time at once.
fn hits_of_what_is_sent_twice(others: u32) -> usize {
    let mut cache = Cache::new(PolicyKind::Density, 400);
    let mut fresh = 0..;
    let mut prompt = || fresh.by_ref().take(40).collect::<Vec<_>>();
    for _ in 0..others {
        cache.now += SECOND;
        cache.serve(&prompt());
    }
    let twice = prompt();
    cache.serve(&twice);
    cache.now += SECOND;
    cache.serve(&twice)
}

#[test]
fn a_prompt_that_is_sent_twice_is_found_in_a_full_cache() {
    for others in [0, 9, 10, 11, 50, 300, 2000] {
        assert_eq!(hits_of_what_is_sent_twice(others), 40, "after {others} others");
    }
}

#[test]
fn what_came_last_stays_where_its_kind_was_never_of_use() {
    let mut cache = Cache::new(PolicyKind::Density, 640);
    let mut unannounced = 1 << 16..;
    for round in 0..400 {
        cache.now += SECOND;
        let prompt: Vec<_> = (0..8).map(|depth| (round % 20) << 8 | depth).collect();
        cache.serve(&prompt);
        for block in unannounced.by_ref().take(20) {
            cache.save(block);
        }
    }
    let newest = unannounced.start - 20..unannounced.start;
    for _ in 0..600 {
        let gone = cache.evict();
        assert!(!newest.contains(&gone), "{gone:x} is of the last that came");
    }
}

#[test]
fn prompts_that_fill_the_cache_drive_nothing_out_that_is_used_again_and_again() {
    for others in [40, 60, 200] {
        let mut cache = Cache::new(PolicyKind::Density, 60);
        let often: Vec<_> = (0..20).collect();
        let mut fresh = 100..;
        let mut late_hits = 0;
        for round in 0..300 {
            cache.now += SECOND;
            let hits = cache.serve(&often);
            late_hits += if round >= 200 { hits } else { 0 };
            cache.now += SECOND;
            cache.serve(&fresh.by_ref().take(others).collect::<Vec<_>>());
        }
        assert!(late_hits > 1900, "{late_hits} of 2000 beside prompts of {others}");
    }
}

#[test]
fn what_was_just_saved_is_found_at_any_speed() {
    for step in [0, 1, 5, 20, 60, 100, 500, 3000] {
        let mut cache = Cache::new(PolicyKind::Density, 512);
        let mut fresh = 0..;
        for round in 0..400 {
            let saved: Vec<_> = fresh.by_ref().take(1 + round % 128).collect();
            for block in &saved {
                cache.now += step * SECOND / 1000;
                cache.save(*block);
            }
            assert_eq!(
                cache.serve(&saved),
                saved.len(),
                "{step} ms a block, round {round}"
            );
        }
    }
}

#[test]
fn the_newest_half_stays_of_what_nobody_asked_for_however_fast_it_comes() {
    const BLOCKS: u32 = 512;
    for gap in [1, 50, 100, 150, 200, 300, 500, 1_000, 5_000, SECOND] {
        let mut cache = Cache::new(PolicyKind::Density, BLOCKS as usize);
        for block in 0..4 * BLOCKS {
            // Not evenly: a moment may have one of them, or hundreds.
            cache.now += if block / 100 % 2 == 0 { gap } else { gap * 10 };
            cache.save(block);
            let newest = (block + 1).saturating_sub(BLOCKS / 2)..=block;
            for block in newest {
                assert!(cache.tokens.contains_key(&block), "{block}, {gap} us apart");
            }
        }
    }
}
