//! A pool is not larger than the memory there is.

use crate::error::ErrorKind;
use crate::pool::machine::{check_pool_fits, total_bytes};

#[test]
fn total_memory_is_read_in_bytes() {
    assert_eq!(
        total_bytes("MemTotal:       24684084 kB\nMemFree: 1 kB\n"),
        Some(24_684_084 * 1024)
    );
}

#[test]
fn a_pool_larger_than_the_machine_is_refused_with_size_and_remedy() {
    let error = check_pool_fits(u64::MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains(&u64::MAX.to_string()), "{error}");
    assert!(error.message().contains("--pool-size"), "{error}");
}
