use proptest::prelude::*;

use super::*;

#[test]
fn the_usual_limits_have_room_for_all_sessions_and_the_least_for_some() {
    let shares = ConnectionShares::of(1 << 20);
    assert_eq!((shares.socket, shares.http), (SOCKET_MAX, HTTP_MAX));
    let shares = ConnectionShares::of(1_024);
    assert_eq!((shares.socket, shares.http), (341, 128));
}

proptest! {
    #[test]
    fn more_than_a_third_is_left_for_all_else(descriptors in 12_u64..) {
        let shares = ConnectionShares::of(descriptors);
        let left = descriptors - (shares.socket + shares.http) as u64;
        prop_assert!(shares.socket >= 1 && shares.http >= 1 && left > descriptors / 3);
    }
}
