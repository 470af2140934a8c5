use std::ptr::NonNull;

use proptest::prelude::*;

use crate::pool::PagePtr;
use crate::pool::placement::{NodeBytes, by_node, places, sampled};

#[test]
fn bytes_are_shared_by_where_the_sampled_pages_are() {
    let bytes = |node, bytes| NodeBytes { node, bytes };
    assert_eq!(
        by_node(&[0, 1, 2], &[0, 1, 0, -2], 1 << 40),
        [bytes(0, 1 << 39), bytes(1, 1 << 38), bytes(2, 0)],
        "one page has no memory yet"
    );
    assert!(
        by_node(&[0, 1], &[], 4096).is_empty(),
        "the kernel did not answer"
    );
}

#[test]
fn memory_that_takes_turns_on_two_nodes_is_seen_on_both() {
    // As `numactl --interleave=all` spreads it.
    let turns: Vec<i32> = sampled(1 << 40)
        .map(|offset| (offset / 4096 % 2) as i32)
        .collect();
    for node in by_node(&[0, 1], &turns, 100) {
        assert!((45..=55).contains(&node.bytes), "{node:?}");
    }
}

#[test]
fn the_kernel_tells_where_memory_is_that_was_touched_unless_it_may_not_be_asked() {
    let mut bytes = vec![1_u8; 8_192];
    let page = PagePtr::new(NonNull::from(&mut bytes[4_096]), 1);
    let told = places(&[page]);
    assert!(told.is_empty() || told[0] >= 0, "{told:?}");
}

proptest! {
    #[test]
    fn samples_are_different_pages_in_order(bytes in 0u64..1 << 44) {
        let offsets: Vec<u64> = sampled(bytes).collect();
        prop_assert!(offsets.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(offsets.iter().all(|offset| offset % 4096 == 0 && offset + 4096 <= bytes));
        prop_assert_eq!(offsets.len() as u64, (bytes / 4096).min(2_048));
    }
}
