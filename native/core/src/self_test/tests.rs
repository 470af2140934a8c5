use super::*;

#[test]
fn host_memory_passes() {
    let threads = CopyThreads::start(2).unwrap();
    let test = SelfTest::host(&threads);
    assert_eq!((test.error.as_deref(), test.bytes), (None, 1 << 20));
    assert_eq!(test.problem(), None);
}

#[test]
fn one_wrong_bit_is_a_failure() {
    let test = SelfTest::of("bad", |sent| {
        let mut returned = sent.to_vec();
        returned[BYTES / 2] ^= 1;
        Ok(returned)
    });
    assert!(
        test.problem()
            .unwrap()
            .starts_with("the self-test of bad copies failed: other bytes")
    );
}

#[test]
fn a_path_that_fails_says_why() {
    let test = SelfTest::of("closed", |_| {
        Err(Error::new(ErrorKind::Permission, "not allowed"))
    });
    assert_eq!(
        test.problem().unwrap(),
        "the self-test of closed copies failed: not allowed"
    );
}
