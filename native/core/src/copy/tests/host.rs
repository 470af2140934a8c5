//! What only the host engine does.

use std::thread;

use super::conformance;
use super::holder::Holder;
use super::stage::Stage;
use crate::copy::{CopyEngine, LoadPage, SavePage};
use crate::error::{Error, ErrorKind};
use crate::layout::{BlockLayout, LayerLayout, Segment};

const PAGE: usize = 4_096;

fn one_block(base_address: u64, length: u64) -> BlockLayout {
    let segments = vec![Segment { offset: 0, length }];
    BlockLayout::new(
        1,
        &[LayerLayout {
            name: "l".into(),
            base_address,
            block_stride: length,
            segments,
        }],
    )
    .unwrap()
}

#[test]
fn the_host_engine_passes_the_suite() {
    conformance::check(Holder::new);
}

#[test]
fn an_engine_that_was_killed_is_told_from_every_other_error() {
    let holder = Holder::new(PAGE);
    let engine = holder.host_engine(one_block(holder.base(), PAGE as u64), 2);
    let mut page = vec![0; PAGE];
    engine.read(&[SavePage::from_bytes(0, &mut page)]).unwrap();
    holder.kill();
    let read = engine.read(&[SavePage::from_bytes(0, &mut page)]).unwrap_err();
    let write = engine.write(&[LoadPage::from_bytes(0, &page)]).unwrap_err();
    assert_eq!(
        (read.kind(), write.kind()),
        (ErrorKind::PeerEnded, ErrorKind::PeerEnded)
    );
}

/// Memory of which the second half cannot be touched, in any process that is forked now.
fn half_forbidden(pages: usize) -> (Vec<u8>, u64) {
    let memory = vec![7; (2 * pages + 1) * PAGE];
    let begin = memory.as_ptr().addr().next_multiple_of(PAGE);
    let forbidden = begin + pages * PAGE;
    #[expect(unsafe_code, reason = "rustix and libc have no safe mprotect")]
    // SAFETY: the pages lie within `memory`, which nothing reads or frees: the test leaks it.
    let result = unsafe { libc::mprotect(forbidden as *mut libc::c_void, pages * PAGE, libc::PROT_NONE) };
    assert_eq!(result, 0);
    (memory, forbidden as u64)
}

#[test]
fn memory_that_is_not_there_is_an_error_with_its_first_address() {
    const PAGES: usize = 300;
    let (memory, forbidden) = half_forbidden(PAGES);
    let holder = std::mem::ManuallyDrop::new(Holder::with(memory, || {}));
    let length = 2 * PAGES as u64 * PAGE as u64;
    let engine = holder.host_engine(one_block(forbidden - length / 2, length), 1);
    let mut page = vec![0; length as usize];
    let error_names = |error: Error, address: u64| {
        assert_eq!(error.kind(), ErrorKind::Io);
        assert!(error.message().contains(&format!("{address:#x}")), "{error}");
    };
    error_names(
        engine.read(&[SavePage::from_bytes(0, &mut page)]).unwrap_err(),
        forbidden,
    );
    assert!(
        page.iter().take(PAGES * PAGE).all(|&byte| byte == 7),
        "what could be read was not"
    );
    error_names(
        engine.write(&[LoadPage::from_bytes(0, &page)]).unwrap_err(),
        forbidden,
    );
    holder.kill();
}

#[test]
fn a_kernel_that_forbids_it_is_named_with_the_remedy() {
    // A process that is not dumpable can be looked at by privileged ones only.
    let holder = Holder::with(vec![0; PAGE], || {
        #[expect(unsafe_code, reason = "called between fork and pause")]
        // SAFETY: sets a flag of the calling process.
        unsafe {
            libc::prctl(libc::PR_SET_DUMPABLE, 0);
        }
    });
    let engine = holder.host_engine(one_block(holder.base(), PAGE as u64), 1);
    let errors = thread::spawn(move || {
        #[expect(unsafe_code, reason = "the C library's call would change every thread")]
        // SAFETY: this thread alone gives its privileges up, if it has any.
        unsafe {
            libc::syscall(libc::SYS_setresuid, 65_534, 65_534, 65_534);
        }
        let mut page = vec![0; PAGE];
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        // The child becomes unreadable at some time after the fork.
        let read = loop {
            match engine.read(&[SavePage::from_bytes(0, &mut page)]) {
                Err(error) => break error,
                Ok(()) => assert!(std::time::Instant::now() < deadline, "the kernel allows it"),
            }
        };
        (read, engine.write(&[LoadPage::from_bytes(0, &page)]).unwrap_err())
    });
    let (read, write) = errors.join().unwrap();
    for error in [read, write] {
        assert_eq!(error.kind(), ErrorKind::Permission);
        assert!(error.message().contains("ptrace_scope"), "{error}");
    }
}
