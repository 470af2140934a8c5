//! Reasons and the sizes of pools that would have hit.

use std::collections::BTreeSet;

use crate::demand::{Departure, MissReason, Missed};

#[test]
fn each_reason_has_a_name_and_a_count_of_its_own() {
    let names: BTreeSet<_> = MissReason::all().map(MissReason::name).collect();
    assert_eq!(names.len(), MissReason::all().count());
    let mut missed = Missed::default();
    for (reason, blocks) in MissReason::all().zip(1..) {
        missed.add(reason, blocks);
    }
    for (reason, blocks) in MissReason::all().zip(1..) {
        assert_eq!(missed.of(reason), blocks);
    }
    assert_eq!(missed.total(), (1..=MissReason::all().count() as u64).sum());
}

#[test]
fn larger_pools_hit_what_smaller_ones_do() {
    let mut missed = Missed::default();
    for more_bytes in [0, 50, 51, 100, 101, 300, 301] {
        missed.add_ghost(more_bytes, 100);
    }
    assert_eq!(missed.ghost_hits, [2, 4, 6]);
}

#[test]
fn what_left_for_want_of_room_would_have_stayed_in_a_larger_pool() {
    let for_room: Vec<_> = Departure::ALL
        .into_iter()
        .filter(|why| why.is_for_room())
        .collect();
    assert_eq!(
        for_room,
        [Departure::Room, Departure::PageSize, Departure::Resize]
    );
}
