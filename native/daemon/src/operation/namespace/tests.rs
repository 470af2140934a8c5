use std::collections::BTreeSet;

use pegaflow_core::error::ErrorKind;

use super::{NamespacePrefix, name_of};

fn prefix(text: &str) -> NamespacePrefix {
    NamespacePrefix::try_from(text.to_owned()).unwrap()
}

fn known() -> BTreeSet<[u8; 32]> {
    [[0xab; 32], [0xac; 32], [0x12; 32]].into()
}

#[test]
fn digits_that_one_namespace_begins_with_name_it() {
    for (text, byte) in [("1", 0x12), ("ab", 0xab), ("AC", 0xac), (&"12".repeat(32), 0x12)] {
        assert_eq!(prefix(text).one_of(&known()).unwrap(), [byte; 32]);
    }
}

#[test]
fn digits_that_several_begin_with_are_refused_with_all_of_them() {
    let error = prefix("a").one_of(&known()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    for byte in [0xab, 0xac] {
        assert!(error.message().contains(&name_of(&[byte; 32])), "{error}");
    }
}

#[test]
fn digits_that_none_begins_with_are_named() {
    let error = prefix("abc").one_of(&known()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().contains("abc"), "{error}");
}

#[test]
fn only_all_digits_name_one_that_is_not_known() {
    let name = "0123456789abcdef".repeat(4);
    let namespace = prefix(&name).whole().unwrap();
    assert_eq!(name_of(&namespace), name);
    assert_eq!(prefix("0123").whole(), None);
}

#[test]
fn what_is_not_hexadecimal_is_refused_with_what_is_allowed() {
    for text in ["", "xy", "12 ", "1é", &"0".repeat(65)] {
        let error = NamespacePrefix::try_from(text.to_owned()).unwrap_err();
        assert!(error.contains("1 to 64 hexadecimal digits"), "{error}");
    }
}
