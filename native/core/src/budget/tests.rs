//! Shares of a processor, by made-up times.

use super::{Budget, Duration};

fn used_of(seconds: u64, wanted_of_a_second: Duration) -> Duration {
    let mut budget = Budget {
        share: 0.01,
        burst: Duration::from_millis(100),
        credit_s: 0.1,
        wall: Duration::ZERO,
        used: Duration::ZERO,
    };
    let mut used = Duration::ZERO;
    for tick in 1..=seconds * 100 {
        budget.advance(Duration::from_millis(10 * tick), used);
        if budget.credit_s >= 0.0 {
            used += wanted_of_a_second / 100;
        }
    }
    used
}

#[test]
fn no_more_than_its_share_is_used_however_much_there_is_to_do() {
    let used = used_of(100, Duration::from_millis(800));
    assert!(
        used >= Duration::from_millis(900) && used <= Duration::from_millis(1200),
        "{used:?}"
    );
}

#[test]
fn what_keeps_to_the_share_is_never_held_up() {
    assert_eq!(used_of(100, Duration::from_millis(9)), Duration::from_millis(900));
}
