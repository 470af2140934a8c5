//! What the curve takes, whatever is asked for.

use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{BLOCK_BYTES, fingerprints, watch, what_if};
use crate::eviction::PolicyKind;
use crate::simulate::tests::workloads;
use crate::sync::Ordering;
use crate::what_if::WhatIf;
use crate::what_if::backlog::MOST;

const POOL_BLOCKS: usize = 1_000;
const POOL_BYTES: u64 = POOL_BLOCKS as u64 * BLOCK_BYTES;

fn ask(what_if: &WhatIf, blocks: std::ops::Range<u32>) {
    what_if.asked(&fingerprints(&blocks.collect::<Vec<_>>()), BLOCK_BYTES, 1);
}

#[test]
fn nothing_is_said_before_anything_was_asked() {
    let curve = WhatIf::new(PolicyKind::Lru, POOL_BYTES).curve(POOL_BYTES);
    assert!(curve.points.is_empty() && curve.policy == PolicyKind::Lru);
}

#[test]
fn a_pool_of_another_size_has_a_curve_of_its_own() {
    let what_if = what_if(PolicyKind::default(), POOL_BLOCKS, 100_000);
    ask(&what_if, 0..2_000);
    assert_eq!(what_if.curve(POOL_BYTES).seen_blocks, 2_000);
    assert!(what_if.curve(2 * POOL_BYTES).points.is_empty());
    ask(&what_if, 0..2_000);
    let curve = what_if.curve(2 * POOL_BYTES);
    assert_eq!(curve.points[3].pool_bytes, 2 * POOL_BYTES);
    // Its miniature had kept them for the size before.
    assert!(curve.points[7].hit_part > 0.99, "{curve:?}");
}

#[test]
fn the_sample_becomes_smaller_when_it_has_too_many_blocks() {
    for kind in PolicyKind::ALL {
        let what_if = what_if(kind, 100_000, 1_000);
        for prompt in 0..200 {
            ask(&what_if, prompt * 100..prompt * 100 + 100);
        }
        let curve = what_if.curve(100_000 * BLOCK_BYTES);
        assert!(
            curve.sampled_blocks <= 1_000 && curve.sampled_blocks >= 400,
            "{curve:?}"
        );
        assert_eq!(curve.seen_blocks, 20_000);
    }
}

#[test]
fn what_comes_faster_than_it_is_counted_is_left_out() {
    let what_if = what_if(PolicyKind::Lru, POOL_BLOCKS, 1_000);
    let prompts = 3 * MOST as u32 / 1_000;
    for prompt in 0..prompts {
        ask(&what_if, prompt * 1_000..prompt * 1_000 + 1_000);
    }
    let seen = what_if.curve(POOL_BYTES).seen_blocks;
    assert!(seen >= MOST as u64 && seen < MOST as u64 + 1_000, "{seen}");
}

#[test]
fn the_sample_becomes_smaller_when_it_takes_too_long() {
    let what_if = what_if(PolicyKind::default(), POOL_BLOCKS, 1_000_000);
    what_if.start().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut prompt = 0;
    while what_if.watched.level.load(Ordering::Relaxed) == 0 {
        assert!(Instant::now() < deadline, "the sample has all blocks still");
        ask(&what_if, prompt * 1_000..prompt * 1_000 + 1_000);
        prompt += 1;
        thread::yield_now();
    }
    what_if.stop();
    what_if.join().unwrap();
}

#[test]
fn what_a_thread_counts_meanwhile_is_what_is_counted_when_somebody_asks() {
    let (_, requests) = workloads::all(1).swap_remove(0);
    let asked = what_if(PolicyKind::default(), POOL_BLOCKS, 100_000);
    watch(&asked, &requests);
    let meanwhile = what_if(PolicyKind::default(), POOL_BLOCKS, 100_000);
    meanwhile.start().unwrap();
    for request in requests.iter() {
        let blocks = fingerprints(request.blocks);
        meanwhile.asked(&blocks, BLOCK_BYTES, request.time_us);
    }
    let (asked, curve) = (asked.curve(POOL_BYTES), meanwhile.curve(POOL_BYTES));
    meanwhile.stop();
    meanwhile.join().unwrap();
    assert_eq!(curve.seen_blocks, requests.blocks() as u64);
    assert_eq!(curve.seen_blocks, asked.seen_blocks);
    for (one, other) in curve.points.iter().zip(&asked.points) {
        // Where the thread took too long, it went on with a smaller sample.
        assert!(
            (one.hit_part - other.hit_part).abs() < 0.2,
            "{curve:?}\n{asked:?}"
        );
    }
}

proptest! {
    #[test]
    fn any_use_is_taken(
        kind in prop::sample::select(&PolicyKind::ALL),
        requests in prop::collection::vec(prop::collection::vec(0..5000_u32, 0..300), 0..50),
        saved in prop::collection::vec(0..5000_u32, 0..50),
    ) {
        let what_if = what_if(kind, 100, 64);
        for (time, blocks) in requests.iter().enumerate() {
            what_if.asked(&fingerprints(blocks), BLOCK_BYTES, time as u64);
            if let Some(block) = saved.get(time) {
                what_if.saved(super::fingerprint(*block), None, BLOCK_BYTES, time as u64);
            }
        }
        let curve = what_if.curve(100 * BLOCK_BYTES);
        prop_assert!(curve.sampled_blocks <= 64);
        prop_assert_eq!(curve.seen_blocks, requests.iter().map(|blocks| blocks.len() as u64).sum::<u64>());
        prop_assert!(curve.points.iter().all(|point| (0.0..=1.0).contains(&point.hit_part)));
    }
}
