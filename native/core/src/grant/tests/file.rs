//! Both halves on a real file.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use tempfile::TempDir;

use super::super::format::{HEADER_BYTES, Header, daemon_word_at, engine_word_at};
use super::super::{GrantFile, GrantPool, IssuedGrant, Revoke};
use crate::error::ErrorKind;

const SLOTS: u32 = 3;
const BOOT: u64 = 0x1122_3344_5566_7788;

struct Pair {
    _folder: TempDir,
    path: PathBuf,
    daemon: Arc<GrantFile>,
    engine: Arc<GrantPool>,
}

fn pair() -> Pair {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grants");
    let daemon = GrantFile::create(&path, SLOTS, BOOT).unwrap();
    let engine = GrantPool::open(&path, SLOTS, BOOT).unwrap();
    Pair {
        _folder: folder,
        path,
        daemon,
        engine,
    }
}

impl Pair {
    fn issue(&self) -> IssuedGrant {
        self.engine.issue().unwrap().unwrap()
    }

    fn is_valid(&self, grant: &IssuedGrant) -> bool {
        self.daemon.is_valid(grant.slot(), grant.generation()).unwrap()
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(&self.path).unwrap()
    }
}

#[test]
fn the_file_has_the_bytes_of_the_protocol() {
    let pair = pair();
    let mut expected = b"PEGAGRNT".to_vec();
    expected.extend([1, 0, 0, 0, SLOTS as u8, 0, 0, 0]);
    expected.extend([0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]);
    expected.resize(64 + 32 * SLOTS as usize, 0);
    assert_eq!(pair.bytes(), expected);

    let first = pair.issue();
    let second = pair.issue();
    let taken = pair.daemon.take(second.slot(), 1).unwrap().unwrap();
    first.revoke().unwrap();
    expected[64] = 4 + 2;
    expected[64 + 32] = 4 + 1;
    expected[80 + 32] = 4 + 1;
    assert_eq!(pair.bytes(), expected);
    drop(taken);
    expected[80 + 32] = 4;
    assert_eq!(pair.bytes(), expected);
    assert_eq!(
        fs::metadata(&pair.path).unwrap().permissions().mode() & 0o777,
        0o600
    );
}

#[test]
fn a_grant_is_valid_until_it_is_revoked() {
    let pair = pair();
    let grant = pair.issue();
    assert!(pair.is_valid(&grant));
    assert_eq!(grant.revoke().unwrap(), Revoke::Free);
    assert!(!pair.is_valid(&grant));
    assert!(
        pair.daemon
            .take(grant.slot(), grant.generation())
            .unwrap()
            .is_none()
    );
    assert_eq!(grant.revoke().unwrap(), Revoke::Free);
}

#[test]
fn a_taken_grant_is_free_only_after_it_is_given_back() {
    let pair = pair();
    let grant = pair.issue();
    let taken = pair
        .daemon
        .take(grant.slot(), grant.generation())
        .unwrap()
        .unwrap();
    assert_eq!(grant.revoke().unwrap(), Revoke::Taken);
    assert_eq!(grant.revoke().unwrap(), Revoke::Taken);
    drop(taken);
    assert_eq!(grant.revoke().unwrap(), Revoke::Free);
}

#[test]
fn a_batch_after_a_batch_can_be_taken() {
    let pair = pair();
    let grant = pair.issue();
    for _ in 0..3 {
        let taken = pair.daemon.take(grant.slot(), grant.generation()).unwrap();
        assert!(taken.is_some());
    }
}

#[test]
fn one_slot_is_never_taken_twice_at_once() {
    let pair = pair();
    let grant = pair.issue();
    let _taken = pair
        .daemon
        .take(grant.slot(), grant.generation())
        .unwrap()
        .unwrap();
    let error = pair.daemon.take(grant.slot(), grant.generation()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
}

#[test]
fn a_late_request_for_an_earlier_use_of_the_slot_leaves_its_new_use_alone() {
    let pair = pair();
    let early = pair.issue();
    let (slot, generation) = (early.slot(), early.generation());
    early.revoke().unwrap();
    early.settle().unwrap();
    let later = (0..SLOTS)
        .map(|_| pair.issue())
        .find(|grant| grant.slot() == slot)
        .unwrap();
    let taken = pair.daemon.take(slot, later.generation()).unwrap().unwrap();

    assert!(pair.daemon.take(slot, generation).unwrap().is_none());
    assert!(!pair.daemon.is_valid(slot, generation).unwrap());
    assert_eq!(later.revoke().unwrap(), Revoke::Taken);
    drop(taken);
    assert_eq!(later.revoke().unwrap(), Revoke::Free);
}

#[test]
fn slots_are_used_again_only_after_they_were_settled() {
    let pair = pair();
    let grants: Vec<IssuedGrant> = (0..SLOTS).map(|_| pair.issue()).collect();
    assert!(pair.engine.issue().unwrap().is_none());
    let mut slots: Vec<u32> = grants.iter().map(IssuedGrant::slot).collect();
    slots.sort_unstable();
    assert_eq!(slots, [0, 1, 2]);

    let mut grants = grants.into_iter();
    let settled = grants.next().unwrap();
    let slot = settled.slot();
    settled.settle().unwrap();
    let again = pair.issue();
    assert_eq!((again.slot(), again.generation()), (slot, 2));

    drop(grants);
    assert!(
        pair.engine.issue().unwrap().is_none(),
        "a grant that was dropped may still be in use by the daemon"
    );
}

#[test]
fn slots_and_generations_out_of_range_are_refused() {
    let pair = pair();
    for (slot, generation) in [(SLOTS, 1), (0, 0), (0, u64::MAX)] {
        assert_eq!(
            pair.daemon.take(slot, generation).unwrap_err().kind(),
            ErrorKind::Invalid
        );
        assert_eq!(
            pair.daemon.is_valid(slot, generation).unwrap_err().kind(),
            ErrorKind::Invalid
        );
    }
}

#[test]
fn a_file_that_somebody_cut_is_an_error_and_never_a_free_grant() {
    for cut in 0..64 + 32 * u64::from(SLOTS) {
        let pair = pair();
        let grants: Vec<IssuedGrant> = (0..SLOTS).map(|_| pair.issue()).collect();
        let _taken: Vec<_> = grants
            .iter()
            .map(|grant| pair.daemon.take(grant.slot(), 1).unwrap().unwrap())
            .collect();
        OpenOptions::new()
            .write(true)
            .open(&pair.path)
            .unwrap()
            .set_len(cut)
            .unwrap();
        // The last slot first: its stores make the file as long as stores can.
        for grant in grants.iter().rev() {
            assert!(
                grant.revoke().is_err(),
                "slot {} of a file cut to {cut} bytes",
                grant.slot()
            );
            assert!(pair.daemon.is_valid(grant.slot(), 1).is_err());
        }
    }
}

#[test]
fn another_daemon_s_file_is_refused() {
    let pair = pair();
    assert_eq!(
        GrantPool::open(&pair.path, SLOTS, BOOT + 1).unwrap_err().kind(),
        ErrorKind::Conflict
    );
    assert_eq!(
        GrantPool::open(&pair.path, SLOTS + 1, BOOT).unwrap_err().kind(),
        ErrorKind::Conflict
    );
    let file = OpenOptions::new().write(true).open(&pair.path).unwrap();
    file.write_all_at(&[2], 8).unwrap();
    assert_eq!(
        GrantPool::open(&pair.path, SLOTS, BOOT).unwrap_err().kind(),
        ErrorKind::Conflict
    );
    file.write_all_at(b"X", 0).unwrap();
    assert_eq!(
        GrantPool::open(&pair.path, SLOTS, BOOT).unwrap_err().kind(),
        ErrorKind::Corrupt
    );
}

#[test]
fn an_engine_follows_no_link() {
    let pair = pair();
    let link = pair.path.with_extension("link");
    std::os::unix::fs::symlink(&pair.path, &link).unwrap();
    assert!(GrantPool::open(&link, SLOTS, BOOT).is_err());
}

#[test]
fn the_file_goes_with_its_registration_and_the_engine_keeps_its_words() {
    let Pair {
        path,
        daemon,
        engine,
        _folder,
    } = pair();
    let grant = engine.issue().unwrap().unwrap();
    drop(daemon);
    assert!(!path.exists());
    assert_eq!(grant.revoke().unwrap(), Revoke::Free);
}

#[test]
fn a_file_left_over_is_replaced_and_not_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("grants");
    let precious = folder.path().join("precious");
    fs::write(&precious, b"precious").unwrap();
    std::os::unix::fs::symlink(&precious, &path).unwrap();
    let _daemon = GrantFile::create(&path, SLOTS, BOOT).unwrap();
    assert_eq!(fs::read(&precious).unwrap(), b"precious");
    GrantPool::open(&path, SLOTS, BOOT).unwrap();
}

proptest! {
    #[test]
    fn headers_survive_encoding(slots: u32, boot_id: u64) {
        let header = Header { slots, boot_id };
        prop_assert_eq!(Header::decode(&header.encode()).unwrap(), header);
    }

    #[test]
    fn any_bytes_are_a_header_or_an_error(bytes in proptest::collection::vec(any::<u8>(), HEADER_BYTES)) {
        drop(Header::decode(&bytes.try_into().unwrap()));
    }

    #[test]
    fn words_of_different_slots_never_meet(a: u32, b: u32) {
        let words = |slot| [engine_word_at(slot), daemon_word_at(slot)];
        for (x, y) in words(a).into_iter().flat_map(|x| words(b).map(|y| (x, y))) {
            prop_assert!(x.abs_diff(y) >= 16 || (a == b && x == y));
            prop_assert!(x >= HEADER_BYTES as u64 && x.is_multiple_of(8));
        }
    }
}
