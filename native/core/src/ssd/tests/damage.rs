//! Files that are not as they were written: nothing wrong is served, and what is whole still is.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use rand::Rng;
use tempfile::TempDir;

use super::fixture::{CAPACITY, Fixture, Hash, PADDED_BYTES, PAGES, deadline, fresh};
use crate::ssd::format::{Identity, Record, SegmentHeader, UNIT, block_at, decode};
use crate::ssd::*;

/// The only segment that has blocks.
fn segment(fixture: &Fixture) -> (PathBuf, SegmentHeader) {
    let files = fs::read_dir(&fixture.dir)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut used = files.filter_map(|path| {
        let bytes = fs::read(&path).unwrap();
        let header = SegmentHeader::decode(&bytes)?;
        (header.generation > 0).then_some((path, header))
    });
    let found = used.next().unwrap();
    assert!(used.next().is_none());
    found
}

/// Each record of a segment, with where its bytes are in the journal.
fn records(path: &PathBuf, header: &SegmentHeader) -> Vec<(Record, std::ops::Range<usize>)> {
    let journal = journal(path, header);
    let (mut at, mut check) = (0, header.first_check());
    let mut records = Vec::new();
    while let Some((record, own, len)) = decode(&journal[at..], check) {
        records.push((record, at..at + len));
        (at, check) = (at + len, own);
    }
    records
}

/// The journal's bytes in their order.
fn journal(path: &PathBuf, header: &SegmentHeader) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    let units = bytes[header.bytes as usize / 2..].rchunks(UNIT as usize);
    units.flatten().copied().collect()
}

/// Where a byte of the journal is in the file.
fn place(header: &SegmentHeader, position: usize) -> u64 {
    let position = position as u64;
    block_at(header.bytes, position / UNIT) + position % UNIT
}

fn change(path: &PathBuf, at: u64, change: impl FnOnce(u8) -> u8) {
    let file = open(path);
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[change(byte[0])], at).unwrap();
}

fn open(path: &PathBuf) -> File {
    OpenOptions::new().read(true).write(true).open(path).unwrap()
}

/// Blocks in the order of their records, in a tier that is closed.
fn closed(dir: &TempDir, blocks: usize) -> (Fixture, Vec<Hash>) {
    let mut fixture = Fixture::open(dir);
    let hashes = (0..blocks).map(|_| fixture.write()).collect();
    fixture.close();
    (fixture, hashes)
}

#[test]
fn a_journal_that_is_torn_at_any_byte_of_its_last_block_is_cut_before_it() {
    let dir = TempDir::new().unwrap();
    let (mut fixture, hashes) = closed(&dir, 4);
    let (path, header) = segment(&fixture);
    let all = records(&path, &header);
    let is_block = |(record, _): &&(Record, _)| matches!(record, Record::Block { .. });
    let (_, last) = all.iter().rfind(is_block).unwrap().clone();
    let whole = fs::read(&path).unwrap();
    for torn in last.clone() {
        fs::write(&path, &whole).unwrap();
        // What was there before: zeros, or anything.
        let fill = [0, rand::random()][torn % 2];
        let tail = all.last().unwrap().1.end;
        let mut differs = false;
        for position in torn..tail {
            change(&path, place(&header, position), |byte| {
                differs |= byte != fill && position < last.end;
                fill
            });
        }
        fixture = fixture.reopen(None);
        let found: Vec<bool> = hashes.iter().map(|hash| fixture.has(hash)).collect();
        assert_eq!(found, [true, true, true, !differs], "torn at {torn} of {last:?}");
        fixture.close();
    }
}

#[test]
fn a_journal_goes_on_where_it_was_cut() {
    let dir = TempDir::new().unwrap();
    let (fixture, hashes) = closed(&dir, 4);
    let (path, header) = segment(&fixture);
    let all = records(&path, &header);
    let is_block = |(record, _): &&(Record, _)| matches!(record, Record::Block { .. });
    let second = all.iter().filter(is_block).nth(1).unwrap().1.clone();
    change(&path, place(&header, second.start), |byte| byte ^ 1);

    let mut fixture = fixture.reopen(None);
    let found: Vec<bool> = hashes.iter().map(|hash| fixture.has(hash)).collect();
    assert_eq!(found, [true, false, false, false]);
    let more: Vec<Hash> = (0..3).map(|_| fixture.write()).collect();
    fixture.close();
    let fixture = fixture.reopen(None);
    assert!(more.iter().all(|hash| fixture.has(hash)));
    // The records that were cut off do not count again behind new ones of the same length.
    assert!(
        hashes[2..]
            .iter()
            .all(|hash| !fixture.ssd.contains(fixture.space, hash))
    );
    fixture.close();
}

#[test]
fn a_flipped_bit_in_any_byte_of_a_journal_cuts_it_there() {
    let dir = TempDir::new().unwrap();
    let (mut fixture, hashes) = closed(&dir, 3);
    let (path, header) = segment(&fixture);
    let all = records(&path, &header);
    let end = all.last().unwrap().1.end;
    for position in 0..end {
        let mask = 1 << rand::rng().random_range(0..8);
        change(&path, place(&header, position), |byte| byte ^ mask);
        fixture = fixture.reopen(None);
        let cut = all.iter().take_while(|(_, at)| at.end <= position);
        let whole = cut
            .filter(|(record, _)| matches!(record, Record::Block { .. }))
            .count();
        let found: Vec<bool> = hashes.iter().map(|hash| fixture.has(hash)).collect();
        let expected: Vec<bool> = (0..3).map(|index| index < whole).collect();
        assert_eq!(found, expected, "byte {position}");
        fixture.close();
        change(&path, place(&header, position), |byte| byte ^ mask);
    }
    let fixture = fixture.reopen(None);
    assert_eq!(fixture.check_all(), 3);
    fixture.close();
}

#[test]
fn a_flipped_bit_in_the_header_of_a_segment_loses_its_blocks_and_no_more() {
    let dir = TempDir::new().unwrap();
    let (mut fixture, hashes) = closed(&dir, 2);
    let (path, header) = segment(&fixture);
    let whole = fs::read(&path).unwrap();
    let fields = header.encode().iter().rposition(|byte| *byte != 0).unwrap() + 1;
    for at in 0..fields {
        fs::write(&path, &whole).unwrap();
        change(&path, at as u64, |byte| {
            byte ^ 1 << rand::rng().random_range(0..8)
        });
        fixture = fixture.reopen(None);
        assert_eq!(fixture.check_all(), 0, "byte {at}");
        assert_eq!(fixture.path().recovery.bad_segments, 1);
        fixture.close();
    }
    fs::write(&path, &whole).unwrap();
    let mut fixture = fixture.reopen(None);
    assert!(hashes.iter().all(|hash| fixture.has(hash)));
    let more = fixture.write();
    assert!(fixture.has(&more));
    fixture.close();
}

#[test]
fn a_segment_whose_header_is_damaged_anyhow_counts_for_the_capacity() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    fixture.write_many((2 * CAPACITY / PADDED_BYTES) as usize);
    fixture.close();
    let files: Vec<PathBuf> = fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_str().unwrap().contains("segment-"))
        .collect();
    // One by a bit of the path's id, one by all of it, one with nothing, and one with anything in its place.
    let damages: [&dyn Fn(&PathBuf); 4] = [
        &|path| {
            let at = rand::rng().random_range(32..48);
            change(path, at, |byte| byte ^ 1 << rand::rng().random_range(0..8));
        },
        &|path| open(path).write_all_at(&fresh(16), 32).unwrap(),
        &|path| open(path).write_all_at(&[0; 4096], 0).unwrap(),
        &|path| open(path).write_all_at(&fresh(4096), 0).unwrap(),
    ];
    for (round, damage) in damages.into_iter().enumerate() {
        let path = &files[round];
        damage(path);
        fixture = fixture.reopen(None);
        assert_eq!(fixture.path().recovery.bad_segments, 1, "damage {round}");
        for _ in 0..2 * CAPACITY / PADDED_BYTES / 50 {
            fixture.write_many(50);
            let sizes = fs::read_dir(dir.path())
                .unwrap()
                .map(|file| file.unwrap().metadata().unwrap().len());
            let bytes: u64 = sizes.sum();
            let said = fixture.path().used;
            assert!(
                bytes <= said && said <= CAPACITY,
                "damage {round}: {bytes} bytes, {said} said"
            );
        }
        assert!(
            fixture.check_all() as u64 * PADDED_BYTES > CAPACITY / 2,
            "damage {round}"
        );
        fixture.close();
        // What is one of the path beyond doubt was used again.
        let header = SegmentHeader::decode(&fs::read(path).unwrap());
        assert_eq!(header.is_some(), round == 0, "damage {round}");
        if round > 0 {
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn a_flipped_bit_in_data_is_a_counted_miss() {
    let dir = TempDir::new().unwrap();
    let (fixture, hashes) = closed(&dir, 3);
    let (path, _) = segment(&fixture);
    // The padding behind a page is nobody's: it is not compared.
    let in_page = rand::rng().random_range(0..20_000);
    change(&path, UNIT + PADDED_BYTES + in_page, |byte| byte ^ 0x10);

    let fixture = fixture.reopen(None);
    let error = fixture.read(&hashes[1]).unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(!fixture.ssd.contains(fixture.space, &hashes[1]));
    assert_eq!(fixture.path().corrupt_blocks, 1);
    assert!(fixture.has(&hashes[0]) && fixture.has(&hashes[2]));
    fixture.close();
    // That it is gone is on the disk too.
    let mut fixture = fixture.reopen(None);
    assert!(!fixture.ssd.contains(fixture.space, &hashes[1]));
    fixture.write_as(hashes[1]).unwrap();
    assert!(fixture.has(&hashes[1]));
    fixture.close();
}

#[test]
fn a_verification_drops_what_is_damaged() {
    let dir = TempDir::new().unwrap();
    let (fixture, hashes) = closed(&dir, 10);
    let (path, _) = segment(&fixture);
    for block in [2, 7] {
        change(&path, UNIT + block * PADDED_BYTES + 30_000, |byte| !byte);
    }
    let fixture = fixture.reopen(None);
    let mut calls = 0;
    let mut progress = |_| {
        calls += 1;
        std::ops::ControlFlow::Continue(())
    };
    let verified = fixture.ssd.verify(&fixture.dir, &mut progress).unwrap();
    assert!(calls >= 10);
    assert_eq!((verified.blocks, verified.checked, verified.corrupt), (10, 10, 2));
    assert_eq!(verified.bytes, 8 * 80_000);
    let found: Vec<bool> = hashes.iter().map(|hash| fixture.has(hash)).collect();
    assert_eq!(found.iter().filter(|found| **found).count(), 8);
    assert!(!found[2] && !found[7]);
    fixture.close();
}

#[test]
fn a_verification_ends_when_it_is_told_to() {
    let dir = TempDir::new().unwrap();
    let (fixture, _) = closed(&dir, 10);
    let fixture = fixture.reopen(None);
    let verified = fixture
        .ssd
        .verify(&fixture.dir, &mut |_| std::ops::ControlFlow::Break(()));
    assert_eq!(verified.unwrap().checked, 1);
    fixture.close();
}

#[test]
fn a_segment_that_was_cut_is_made_anew() {
    let dir = TempDir::new().unwrap();
    let (fixture, hashes) = closed(&dir, 2);
    let (path, _) = segment(&fixture);
    open(&path).set_len(1 << 20).unwrap();
    let mut fixture = fixture.reopen(None);
    assert!(!path.exists());
    assert!(!hashes.iter().any(|hash| fixture.has(hash)));
    let more = fixture.write();
    assert!(fixture.has(&more));
    fixture.close();
}

#[test]
fn a_damaged_identity_is_refused() {
    let dir = TempDir::new().unwrap();
    let (fixture, _) = closed(&dir, 1);
    let path = fixture.dir.join("pegaflow.ssd");
    let whole = fs::read(&path).unwrap();
    assert!(Identity::decode(&whole).is_some());
    let fields = whole.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    for at in 0..fields {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << rand::rng().random_range(0..8);
        assert_eq!(Identity::decode(&bytes), None, "byte {at}");
    }
    change(&path, 20, |byte| byte ^ 4);
    let error = Ssd::open(super::fixture::config(&fixture.dir)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(
        error.message().contains("does not name a path of the ssd tier"),
        "{error}"
    );
}

#[test]
fn a_verification_counts_what_is_evicted_before_its_turn_apart() {
    let dir = TempDir::new().unwrap();
    let mut fixture = Fixture::open(&dir);
    fixture.write_many(100);
    fixture.flush();
    let mut is_first = true;
    let mut progress = |_| {
        if std::mem::take(&mut is_first) {
            fixture.ssd.evict(None, u64::MAX, deadline()).unwrap();
        }
        std::ops::ControlFlow::Continue(())
    };
    let verified = fixture.ssd.verify(&fixture.dir, &mut progress).unwrap();
    assert_eq!(
        (verified.blocks, verified.checked, verified.corrupt),
        (100, 100, 0)
    );
    assert!(verified.gone > 0, "{verified:?}");
    let block_bytes: u64 = PAGES.iter().sum();
    assert_eq!(verified.bytes, (100 - verified.gone) * block_bytes);
}
