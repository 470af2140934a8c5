//! The number of different fingerprints.

use std::collections::HashSet;

use super::random;
use crate::demand::distinct::Distinct;

#[test]
fn few_are_counted_exactly() {
    let mut distinct = Distinct::default();
    let fingerprints = random(500);
    let different: HashSet<_> = fingerprints.iter().collect();
    for _ in 0..3 {
        distinct.add(&fingerprints);
    }
    assert_eq!(distinct.count(), different.len() as f64);
}

/// Six standard deviations: once in half a billion runs it is further off.
#[test]
fn many_are_counted_to_within_a_tenth() {
    for count in [513, 2_000, 10_000, 20_000, 100_000, 1_000_000] {
        let mut distinct = Distinct::default();
        let fingerprints = random(count);
        fingerprints.chunks(999).for_each(|part| distinct.add(part));
        distinct.add(&fingerprints[..500]);
        let told = distinct.count();
        assert!((told / count as f64 - 1.0).abs() < 0.1, "{told} for {count}");
    }
}

#[test]
fn sets_that_are_merged_count_what_both_have_once() {
    let fingerprints = random(6_000);
    for sizes in [[100, 200], [400, 300], [100, 5_000], [5_000, 100], [3_000, 3_000]] {
        let mut parts = sizes.map(|_| Distinct::default());
        let mut all = Distinct::default();
        for (part, size) in parts.iter_mut().zip(sizes) {
            part.add(&fingerprints[1_000 - size.min(1_000)..][..size]);
            all.add(&fingerprints[1_000 - size.min(1_000)..][..size]);
        }
        let [mut merged, other] = parts;
        merged.merge(&other);
        assert_eq!(merged.count(), all.count(), "{sizes:?}");
    }
}

#[test]
fn nothing_is_none() {
    assert_eq!(Distinct::default().count(), 0.0);
}
