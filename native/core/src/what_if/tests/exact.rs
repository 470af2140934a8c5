//! The curve is that of caches that are simulated block by block.

use super::{BLOCK_BYTES, watch, what_if};
use crate::eviction::PolicyKind;
use crate::simulate::tests::workloads;
use crate::simulate::{Contender, Request, Requests, SimulatedCache, curve, fingerprint};
use crate::what_if::Curve;

/// Most points that the curve may be off where it does not say that it is rough.
const ERROR: f64 = 2.0;
/// The curve's pool has this part of the distinct blocks.
const POOL_DIVISOR: usize = 16;
const PERCENT: f64 = 100.0;

fn some(scale: usize, names: &[&str]) -> Vec<(&'static str, Requests)> {
    let mut workloads = workloads::all(scale);
    workloads.retain(|(name, _)| names.contains(name));
    workloads
}

/// The curve, and for each of its sizes the percent of the blocks that a cache of that size hits.
fn compare(kind: PolicyKind, requests: &Requests, most_blocks: usize) -> (Curve, Vec<f64>) {
    let what_if = what_if(kind, requests.distinct_blocks() / POOL_DIVISOR, most_blocks);
    watch(&what_if, requests);
    let pool_blocks = (requests.distinct_blocks() / POOL_DIVISOR) as u64;
    let found = what_if.curve(pool_blocks * BLOCK_BYTES);
    let sizes = found
        .points
        .iter()
        .map(|point| (point.pool_bytes / BLOCK_BYTES) as usize);
    let hits = curve(requests, Contender::Policy(kind), &sizes.collect::<Vec<_>>(), 2);
    let percent = |hits| hits as f64 * PERCENT / requests.blocks() as f64;
    (found, hits.into_iter().map(percent).collect())
}

#[test]
fn a_sample_of_all_blocks_has_the_exact_curve_of_each_policy() {
    for (name, requests) in some(1, &["slow conversations", "epochs"]) {
        for kind in PolicyKind::ALL {
            let (found, exact) = compare(kind, &requests, requests.distinct_blocks());
            for (point, exact) in found.points.iter().zip(exact) {
                assert!(
                    (point.hit_part * PERCENT - exact).abs() < 1e-9 && !point.is_rough,
                    "{name}, {}: {exact:.1} %, {point:?}",
                    kind.name()
                );
            }
        }
    }
}

#[test]
fn a_small_sample_is_off_by_two_points_at_most_where_it_is_not_rough() {
    for (name, requests) in some(4, &["hot prompt", "slow conversations", "documents"]) {
        for kind in [PolicyKind::Lru, PolicyKind::default()] {
            let (found, exact) = compare(kind, &requests, requests.distinct_blocks() / 4);
            for (point, exact) in found.points.iter().zip(exact) {
                assert!(
                    (point.hit_part * PERCENT - exact).abs() <= ERROR || point.is_rough,
                    "{name}, {}: {exact:.1} %, {point:?}",
                    kind.name()
                );
            }
        }
    }
}

#[test]
fn policies_that_keep_beginnings_are_rough_in_small_pools_alone() {
    let (_, requests) = some(3, &["slow conversations"]).swap_remove(0);
    for kind in PolicyKind::ALL {
        let (found, _) = compare(kind, &requests, requests.distinct_blocks() / 4);
        let rough: Vec<_> = found.points.iter().map(|point| point.is_rough).collect();
        let largest = rough.iter().rposition(|is_rough| *is_rough);
        let keeps_beginnings = matches!(kind, PolicyKind::Lru | PolicyKind::Density);
        assert_eq!(largest < Some(4), keeps_beginnings, "{}: {rough:?}", kind.name());
        // All blocks fit into the largest.
        assert!(!rough[7], "{}: {rough:?}", kind.name());
    }
}

#[test]
fn answers_that_were_saved_are_hit_by_the_next_turn() {
    let turns: Vec<Vec<u32>> = (0..20).map(|turn| (0..=turn * 10).collect()).collect();
    let what_if = what_if(PolicyKind::default(), 1_000, 10_000);
    let mut cache = SimulatedCache::new(PolicyKind::default(), 1_000, 1_000);
    let (mut hits, mut asked) = (0, 0);
    for (time, prompt) in turns.iter().enumerate() {
        let time_us = time as u64 * 1_000_000;
        asked += prompt.len();
        hits += cache.serve(Request {
            time_us,
            blocks: prompt,
        });
        what_if.asked(&super::fingerprints(prompt), BLOCK_BYTES, time_us);
        let answer = prompt.len() as u32..prompt.len() as u32 + 9;
        for block in answer {
            let after = block - 1;
            cache.save(time_us, Some(after), &[block]);
            what_if.saved(fingerprint(block), Some(fingerprint(after)), BLOCK_BYTES, time_us);
        }
    }
    let found = what_if.curve(1_000 * BLOCK_BYTES);
    let exact = hits as f64 / asked as f64;
    assert!(exact > 0.9);
    assert!(
        (found.points[3].hit_part - exact).abs() < 1e-9,
        "{exact}: {found:?}"
    );
}
