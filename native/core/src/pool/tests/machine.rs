//! A pool is not larger than the memory there is.

use crate::error::ErrorKind;
use crate::pool::machine::{available_bytes, check_pool_fits, check_pool_is_available, field_bytes};

#[test]
fn memory_is_read_in_bytes() {
    let meminfo = "MemTotal:       24684084 kB\nMemAvailable:   1024 kB\n";
    assert_eq!(field_bytes(meminfo, "MemTotal:"), Some(24_684_084 * 1024));
    assert_eq!(field_bytes(meminfo, "MemAvailable:"), Some(1 << 20));
    assert_eq!(field_bytes(meminfo, "SwapTotal:"), None);
}

#[test]
fn a_pool_that_leaves_no_memory_to_others_is_refused() {
    let available = available_bytes().unwrap();
    check_pool_is_available(available / 2).unwrap();
    let error = check_pool_is_available(available * 2).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(
        error.message().contains("available") && error.message().contains("smaller"),
        "{error}"
    );
}

#[test]
fn a_pool_larger_than_the_machine_is_refused_with_size_and_remedy() {
    let error = check_pool_fits(u64::MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains(&u64::MAX.to_string()), "{error}");
    assert!(error.message().contains("--pool-size"), "{error}");
}
