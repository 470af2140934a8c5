//! The sampled curve against caches of each size that are simulated block by block.

use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{ALL, WhatIf};
use crate::eviction::PolicyKind;
use crate::simulate::{Requests, policy};
use crate::sync::Ordering;

const BLOCK_BYTES: u64 = 1 << 20;
/// Most that the curve may be off.
const ERROR: f64 = 0.02;

/// As the index has them: any 32 bits.
fn fingerprint(block: u32) -> u32 {
    xxhash_rust::xxh3::xxh3_64(&block.to_le_bytes()) as u32
}

fn watched(requests: &Requests, samples: usize) -> WhatIf {
    let what_if = WhatIf::with_samples(samples);
    for request in requests.iter() {
        let fingerprints: Vec<_> = request.blocks.iter().map(|block| fingerprint(*block)).collect();
        what_if.see(&fingerprints, BLOCK_BYTES);
    }
    what_if
}

/// Where the curve is off the most: the size in blocks, the exact part and the sampled one.
fn worst(requests: &Requests, what_if: &WhatIf) -> (usize, f64, f64) {
    let most = requests.distinct_blocks();
    // In a pool of few prompts it counts which block of a prompt came in last.
    let capacities: Vec<_> = (3..=14).map(|step| most * step * step / 196).collect();
    let sizes: Vec<_> = capacities
        .iter()
        .map(|blocks| *blocks as u64 * BLOCK_BYTES)
        .collect();
    let parts = what_if.curve(&sizes).hit_parts;
    let exact = |capacity| policy(requests, PolicyKind::Lru, capacity) as f64 / requests.blocks() as f64;
    let points = capacities.iter().zip(parts);
    points
        .map(|(capacity, part)| (*capacity, exact(*capacity), part))
        .max_by(|a, b| (a.1 - a.2).abs().total_cmp(&(b.1 - b.2).abs()))
        .unwrap()
}

/// Conversations that grow, begin with one of a few shared prompts, and are taken up again sooner rather than later.
fn conversations(seed: u64, count: usize, shared: u64) -> Requests {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut requests = Requests::default();
    let mut open: Vec<Vec<u64>> = Vec::new();
    let mut fresh = 1 << 32;
    for number in 0..count {
        let at = open
            .len()
            .saturating_sub((rng.random::<f64>().powi(3) * 800.0) as usize + 1);
        let mut blocks = match open.get(at) {
            Some(_) if rng.random_bool(0.6) => open.remove(at),
            _ => (0..rng.random_range(1..8))
                .map(|depth| rng.random_range(0..=shared) << 8 | depth)
                .take(1)
                .collect(),
        };
        for _ in 0..rng.random_range(1..12) {
            fresh += 1;
            blocks.push(fresh);
        }
        requests.push(number as u64, &blocks);
        open.push(blocks);
    }
    requests
}

#[test]
fn a_sample_of_all_blocks_has_the_exact_curve() {
    let requests = conversations(1, 800, 3);
    let what_if = watched(&requests, requests.distinct_blocks());
    let (capacity, exact, part) = worst(&requests, &what_if);
    // Sizes have classes, and a simulated cache lets blocks go only between requests.
    assert!(
        (exact - part).abs() < 0.01,
        "{capacity} blocks: {exact} and {part}"
    );
}

#[test]
fn a_small_sample_is_off_by_two_points_at_most() {
    for seed in 1..=4 {
        let requests = conversations(seed, 12_000, seed * 5);
        let what_if = watched(&requests, super::SAMPLES);
        assert!(what_if.curve(&[]).sampled_blocks < requests.distinct_blocks() as u64 / 4);
        let (capacity, exact, part) = worst(&requests, &what_if);
        assert!(
            (exact - part).abs() <= ERROR,
            "seed {seed}, {capacity} blocks: {exact} and {part}"
        );
    }
}

#[test]
fn nothing_is_said_before_anything_was_asked() {
    assert!(WhatIf::default().curve(&[1 << 30]).hit_parts.is_empty());
}

#[test]
fn what_is_old_counts_less() {
    let what_if = WhatIf::with_samples(64);
    let few: Vec<_> = (0..16).map(fingerprint).collect();
    for _ in 0..super::FADE_BLOCKS / 16 {
        what_if.see(&few, BLOCK_BYTES);
    }
    let seen = what_if.curve(&[]).seen_blocks;
    assert_eq!(seen, super::FADE_BLOCKS / 2);
}

proptest! {
    #[test]
    fn any_use_is_taken(requests in prop::collection::vec(prop::collection::vec(0..5000_u32, 0..300), 0..50)) {
        let what_if = WhatIf::with_samples(64);
        for blocks in &requests {
            let fingerprints: Vec<_> = blocks.iter().map(|block| fingerprint(*block)).collect();
            what_if.see(&fingerprints, BLOCK_BYTES);
        }
        let sizes = [1 << 20, 1 << 24, 1 << 30, u64::MAX];
        let curve = what_if.curve(&sizes);
        prop_assert!(curve.sampled_blocks <= 64);
        prop_assert_eq!(curve.seen_blocks, requests.iter().map(|blocks| blocks.len() as u64).sum::<u64>());
        prop_assert!(curve.hit_parts.is_sorted());
    }
}

#[test]
fn what_a_thread_counts_meanwhile_is_what_is_counted_when_somebody_asks() {
    let requests = conversations(5, 6_000, 3);
    let asked = watched(&requests, 4_000);
    let meanwhile = WhatIf::with_samples(4_000);
    meanwhile.start().unwrap();
    for request in requests.iter() {
        let fingerprints: Vec<_> = request.blocks.iter().map(|block| fingerprint(*block)).collect();
        meanwhile.see(&fingerprints, BLOCK_BYTES);
    }
    let sizes: Vec<_> = (1..20).map(|step| step * 500 * BLOCK_BYTES).collect();
    let (asked, curve) = (asked.curve(&sizes), meanwhile.curve(&sizes));
    meanwhile.stop();
    meanwhile.join().unwrap();
    assert_eq!(curve.seen_blocks, requests.blocks() as u64);
    assert_eq!(curve.seen_blocks, asked.seen_blocks);
    for (one, other) in curve.hit_parts.iter().zip(&asked.hit_parts) {
        // The sample falls at other moments.
        assert!((one - other).abs() < ERROR, "{curve:?}\n{asked:?}");
    }
}

#[test]
fn prompts_that_nobody_counts_are_bounded() {
    let what_if = WhatIf::with_samples(1_000);
    for prompt in 0..2_000 {
        let fingerprints: Vec<_> = (0..1_000)
            .map(|block| fingerprint(prompt * 1_000 + block))
            .collect();
        what_if.see(&fingerprints, BLOCK_BYTES);
    }
    // Lookups counted by themselves when there were too many, so not all is sampled any more.
    assert!(what_if.watched.threshold.load(Ordering::Relaxed) < ALL);
    assert_eq!(what_if.curve(&[BLOCK_BYTES]).seen_blocks, 2_000_000);
}
