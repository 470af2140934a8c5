//! Ceilings over a quarter of an hour, an hour and a day.

use std::time::Duration;

use crate::demand::windows::Windows;

const MINUTE: Duration = Duration::from_secs(60);

fn counts(windows: &mut Windows, now: Duration) -> Vec<(u64, u64)> {
    let ceilings = windows.ceilings(now);
    let counts = ceilings
        .iter()
        .map(|ceiling| (ceiling.requested, ceiling.distinct));
    counts.collect()
}

#[test]
fn what_comes_again_is_below_the_ceiling_of_each_window_that_has_both_times() {
    let mut windows = Windows::default();
    windows.see(&[1, 2, 3, 4], Duration::ZERO);
    windows.see(&[1, 2, 9], Duration::from_secs(59));
    assert_eq!(counts(&mut windows, MINUTE * 2), [(7, 5), (7, 5), (7, 5)]);
    windows.see(&[1, 2, 3], MINUTE * 30);
    assert_eq!(counts(&mut windows, MINUTE * 30), [(3, 3), (10, 5), (10, 5)]);
    windows.see(&[1], MINUTE * 200);
    assert_eq!(counts(&mut windows, MINUTE * 200), [(1, 1), (1, 1), (11, 5)]);
    let ceilings = windows.ceilings(MINUTE * 200);
    assert_eq!(ceilings[0].part(), Some(0.0));
    assert_eq!(ceilings[2].part(), Some(6.0 / 11.0));
}

#[test]
fn after_days_of_nothing_there_is_no_ceiling() {
    let mut windows = Windows::default();
    windows.see(&[1, 1], Duration::ZERO);
    let ceilings = windows.ceilings(MINUTE * 60 * 24 * 3);
    assert!(
        ceilings
            .iter()
            .all(|ceiling| ceiling.requested == 0 && ceiling.part().is_none())
    );
}

#[test]
fn a_window_is_never_shorter_than_it_says_and_at_most_a_fifteenth_longer() {
    for first in 0..8 {
        let mut windows = Windows::default();
        windows.see(&[7], MINUTE * first);
        assert_eq!(counts(&mut windows, MINUTE * (first + 15))[0], (1, 1));
        assert_eq!(counts(&mut windows, MINUTE * (first + 16))[0], (0, 0));
        assert_eq!(counts(&mut windows, MINUTE * (first + 60))[1], (1, 1));
        assert_eq!(counts(&mut windows, MINUTE * (first + 64))[1], (0, 0));
        assert_eq!(counts(&mut windows, MINUTE * (first + 24 * 60))[2], (1, 1));
        assert_eq!(counts(&mut windows, MINUTE * (first + 24 * 60 + 96))[2], (0, 0));
    }
}
