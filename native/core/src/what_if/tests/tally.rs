//! What is counted.

use crate::what_if::tally::Tally;

#[test]
fn what_is_old_counts_less() {
    let mut tally = Tally::default();
    let mut see = |blocks: u64, hits: f64| {
        tally.pass(blocks);
        tally.sample(blocks as f64);
        tally.hit(0, hits);
        tally.fade(1_000);
        (tally.seen(), tally.hit_parts().map(|parts| parts[0]))
    };
    assert_eq!(see(999, 0.0), (999.0, Some(0.0)));
    assert_eq!(see(1, 0.0), (500.0, Some(0.0)));
    assert_eq!(see(500, 500.0), (1_000.0, Some(0.5)));
}

#[test]
fn blocks_that_the_sample_lacks_were_hit() {
    let mut tally = Tally::default();
    tally.pass(1_000);
    tally.sample(600.0);
    tally.hit(2, 300.0);
    let parts = tally.hit_parts().unwrap();
    assert_eq!((parts[0], parts[2]), (0.4, 0.7));
}
