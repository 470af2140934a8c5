//! What is remembered of blocks that left.

use super::random;
use crate::demand::Departure;
use crate::demand::departed::{Departed, Trace};

const MIB: u64 = 1 << 20;

#[test]
fn a_block_is_remembered_with_its_reason_and_what_left_since() {
    let mut departed = Departed::default();
    assert_eq!(departed.find(7), None);
    departed.insert(7, MIB, Departure::Room);
    departed.insert(8, MIB, Departure::Request);
    departed.insert(9, 3 * MIB, Departure::Resize);
    let trace = |why, bytes_since| Some(Trace { why, bytes_since });
    assert_eq!(departed.find(7), trace(Departure::Room, 4 * MIB));
    assert_eq!(departed.find(8), trace(Departure::Request, 3 * MIB));
    departed.insert(7, MIB, Departure::Quota);
    assert_eq!(departed.find(7), trace(Departure::Quota, 0));
    departed.forget(8);
    departed.forget(8);
    assert_eq!(departed.find(8), None);
    assert_eq!(departed.find(0), None);
    departed.insert(0, MIB, Departure::Corrupt);
    assert_eq!(departed.find(0), trace(Departure::Corrupt, 0));
}

#[test]
fn half_a_million_are_remembered_and_no_more_than_there_is_room_for() {
    let mut departed = Departed::default();
    let all = random(3_000_000);
    all.iter()
        .for_each(|fingerprint| departed.insert(*fingerprint, MIB, Departure::Room));
    let known = |part: &[u32]| {
        let known = part
            .iter()
            .filter(|fingerprint| departed.find(**fingerprint).is_some());
        known.count() as f64 / part.len() as f64
    };
    // Eight ways, of which on average four are taken.
    assert!(known(&all[2_500_000..]) > 0.95);
    assert!(known(&all[..500_000]) < 0.01);
}
