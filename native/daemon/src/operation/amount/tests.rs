use proptest::prelude::*;
use serde_json::json;

use super::{Amount, Bytes};

proptest! {
    #[test]
    fn bytes_are_what_they_are(bytes in 1..=i64::MAX as u64, whole: u64) {
        let amount: Amount = serde_json::from_value(json!({"bytes": bytes})).unwrap();
        prop_assert_eq!(amount.of(whole), bytes);
    }

    #[test]
    fn a_part_is_no_more_than_the_whole_and_never_nothing_of_something(
        percent in 0.001_f64..=100.0,
        whole in 1_u64..1 << 50,
    ) {
        let amount: Amount = serde_json::from_value(json!({"percent": percent})).unwrap();
        let part = amount.of(whole);
        prop_assert!((1..=whole).contains(&part));
        let exact = whole as f64 * percent / 100.0;
        prop_assert!((part as f64 - exact).abs() <= 1.0 + exact * 1e-9);
    }

    #[test]
    fn other_parts_are_refused(percent in prop_oneof![-1e9_f64..=0.0, 100.001_f64..1e9]) {
        let refused = serde_json::from_value::<Amount>(json!({"percent": percent}));
        prop_assert!(refused.unwrap_err().to_string().contains("up to 100"));
    }
}

#[test]
fn no_bytes_and_what_is_no_number_of_bytes_are_refused_with_what_is() {
    let numbers = [
        json!(0),
        json!(-1),
        json!(1.5),
        json!(1_u64 << 63),
        json!(u64::MAX),
        json!(1e30),
    ];
    for number in numbers {
        let refused = serde_json::from_value::<Bytes>(number.clone())
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains(&number.to_string()) && refused.contains("from 1 to"),
            "{refused}"
        );
    }
    serde_json::from_value::<Bytes>(json!(null)).unwrap_err();
}

#[test]
fn all_of_it_is_all_of_it() {
    let all: Amount = serde_json::from_value(json!({"percent": 100})).unwrap();
    for whole in [0, 1, 3, 1 << 40] {
        assert_eq!(all.of(whole), whole);
    }
}
