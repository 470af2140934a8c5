use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;

use super::blocks::BlockRequests;
use super::prefixes::HotPrefixes;
use super::*;
use crate::session::Traffic;

#[test]
fn before_the_first_there_is_no_quantile() {
    assert_eq!(Latency::default().quantile_s(0.5), None);
}

#[test]
fn an_early_end_is_a_failure_of_all_blocks_that_were_not_counted() {
    let metrics = TransferMetrics::default();
    let traffic = Arc::new(Traffic::new());
    let mut in_flight = metrics.begin(10, &traffic, Direction::Save);
    assert_eq!(metrics.in_flight.get(), 1);
    in_flight.count("saved", 4);
    drop(in_flight);
    assert_eq!(
        (
            metrics.in_flight.get(),
            metrics.failures.get(),
            metrics.duration.count()
        ),
        (0, 1, 0)
    );
    metrics.begin(3, &traffic, Direction::Save).succeed(3, 300);
    assert_eq!(
        (
            metrics.failures.get(),
            metrics.duration.count(),
            metrics.bytes.get()
        ),
        (1, 1, 300)
    );
}

#[test]
fn namespaces_have_a_bounded_number_of_labels_and_none_is_lost() {
    let requests = BlockRequests::default();
    for number in 0..1_000_u32 {
        let mut namespace = [0; 32];
        namespace[..4].copy_from_slice(&number.to_le_bytes());
        requests.add(
            &namespace,
            &BlockCounts {
                memory: 2,
                miss: 1,
                ..BlockCounts::default()
            },
        );
    }
    let total = requests.total();
    assert_eq!(
        (total.memory, total.miss, total.requested()),
        (2_000, 1_000, 3_000)
    );
    let mut registry = prometheus_client::registry::Registry::default();
    registry.register_collector(Box::new(requests));
    let mut text = String::new();
    prometheus_client::encoding::prometheus_text::encode(&mut text, &registry).unwrap();
    let series = text
        .lines()
        .filter(|line| line.starts_with("pegaflow_cache_blocks_requested_total{"))
        .count();
    assert_eq!(series, 65);
}

proptest! {
    /// A quantile is within the bucket of the value that has this rank.
    #[test]
    fn quantiles_are_as_exact_as_the_buckets(
        mut micros in proptest::collection::vec(0_u64..70_000_000, 1..200),
        share in 0.01_f64..=1.0,
    ) {
        let latency = Latency::default();
        micros.iter().for_each(|&us| latency.observe(Duration::from_micros(us)));
        prop_assert_eq!(latency.count(), micros.len() as u64);
        micros.sort_unstable();
        let rank = (share * micros.len() as f64).ceil() as usize;
        let exact = micros[rank.clamp(1, micros.len()) - 1].min(60_000_000);
        let told_us = latency.quantile_s(share).unwrap() * 1e6;
        // Neighbouring bounds are at most a factor of 3 apart; below the first one they begin at 0.
        prop_assert!(told_us <= (exact.max(17) * 3) as f64 + 1.0, "{told_us} for {exact}");
        prop_assert!(told_us * 3.0 + 1.0 >= exact as f64 || exact <= 50, "{told_us} for {exact}");
    }
}

#[test]
fn a_hot_prefix_outlives_a_flood_of_others_and_is_not_underrated() {
    let prefixes = HotPrefixes::default();
    let hot = [[7_u8; 32]; 4];
    for round in 0_u32..5_000 {
        if round.is_multiple_of(10) {
            prefixes.see(&[1; 32], hot.iter().map(<[u8; 32]>::as_slice), 1);
        }
        let mut other = [0; 32];
        other[..4].copy_from_slice(&round.to_le_bytes());
        prefixes.see(&[2; 32], [other.as_slice()].into_iter(), 0);
    }
    let hottest = prefixes.hottest();
    assert_eq!(hottest.len(), 20);
    let counts: Vec<_> = hottest
        .iter()
        .take(2)
        .map(|prefix| (prefix.blocks, prefix.lookups - prefix.overrated_lookups))
        .collect();
    assert_eq!(counts, [(4, 500), (1, 500)]);
    assert_eq!((hottest[0].found_lookups, hottest[1].found_lookups), (0, 500));
}
