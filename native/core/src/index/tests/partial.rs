//! Blocks of which some shards came and others did not.

use std::time::{Duration, Instant};

use super::{fill, key};
use crate::eviction::Token;
use crate::index::{Claim, Index};
use crate::pool::Slot;

const AGE: Duration = Duration::from_secs(300);

#[test]
fn partial_blocks_leave_after_their_time_unless_somebody_is_filling_them() {
    let index = Index::new();
    let start = Instant::now();
    for number in 0..2 {
        let Claim::Granted(block) = index.claim(key(number), 3, 0) else {
            panic!("not granted")
        };
        assert!(fill(&index, block, 0, Slot(number), Token(number), start).is_none());
    }
    let Claim::Granted(claimed) = index.claim(key(1), 3, 1) else {
        panic!("not granted")
    };
    assert_eq!(index.partial_blocks(), 2);

    assert!(
        index
            .remove_stale(start + AGE - Duration::from_millis(1), AGE, |_| ())
            .is_empty()
    );
    let stale = index.remove_stale(start + AGE, AGE, |slot| assert_eq!(slot, Slot(0)));
    assert_eq!(
        stale.iter().map(|removed| removed.key).collect::<Vec<_>>(),
        [key(0)]
    );
    assert_eq!((index.blocks(), index.partial_blocks()), (1, 1));

    index.abandon(claimed, 1);
    assert_eq!(index.remove_stale(start + AGE, AGE, |_| ()).len(), 1);
    assert_eq!((index.blocks(), index.partial_blocks()), (0, 0));
}

#[test]
fn a_block_that_is_filled_in_time_is_partial_no_more() {
    let index = Index::new();
    let start = Instant::now();
    let Claim::Granted(block) = index.claim(key(0), 2, 0) else {
        panic!("not granted")
    };
    fill(&index, block, 0, Slot(0), Token(0), start);
    index.claim(key(0), 2, 1);
    assert_eq!(
        fill(&index, block, 1, Slot(1), Token(0), start),
        Some(vec![Slot(0), Slot(1)])
    );
    assert!(index.remove_stale(start + 2 * AGE, AGE, |_| ()).is_empty());
    assert_eq!((index.blocks(), index.partial_blocks()), (1, 0));
}

#[test]
fn a_block_is_not_evicted_between_its_last_page_and_its_publication() {
    let index = Index::new();
    let Claim::Granted(block) = index.claim(key(0), 2, 0) else {
        panic!("not granted")
    };
    assert!(index.fill(block, 0, Slot(0), Instant::now()).unwrap().is_first);
    assert!(index.evict(block, |_| ()).is_none(), "no policy keeps it yet");
    index.keep(block, Token(0));
    assert!(index.evictable(&key(0)).is_some());
    index.claim(key(0), 2, 1);
    assert!(index.evict(block, |_| ()).is_none(), "a shard is being saved");
    assert!(
        index
            .fill(block, 1, Slot(1), Instant::now())
            .unwrap()
            .whole
            .is_some()
    );
    assert!(
        index.evict(block, |_| ()).is_none(),
        "it is about to be published"
    );
    index.publish(block, 0);
    assert_eq!(index.evict(block, |_| ()).unwrap().slots, [Slot(0), Slot(1)]);
}

#[test]
fn a_block_published_with_a_pin_is_not_evicted_before_its_publisher_lets_it_go() {
    let index = Index::new();
    let Claim::Granted(block) = index.claim(key(0), 1, 0) else {
        panic!("not granted")
    };
    index.fill(block, 0, Slot(0), Instant::now()).unwrap();
    index.keep(block, Token(0));
    index.publish_pinned(block, 0);
    assert!(index.evict(block, |_| ()).is_none());
    let unpinned = index.unpin(block);
    assert!(unpinned.is_last && unpinned.removed.is_none());
    assert!(index.evict(block, |_| ()).is_some());
}
