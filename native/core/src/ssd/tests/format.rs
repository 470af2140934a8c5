//! The bytes on the disk: what an earlier release wrote can be read, and what this one writes is the same.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::fixture::{KEY, config, geometry};
use crate::ssd::format::{
    Identity, JournalEnd, JournalTail, Record, SegmentHeader, SpaceRecord, UNIT, block_at, decode,
};
use crate::ssd::*;

/// What the fixture holds: see its `README.md`.
const PATH_ID: [u8; 16] = [0xa5; 16];
const SEGMENT_BYTES: u64 = 4 << 20;
const PAGES: [u64; 2] = [5000, 100];
const GENERATION: u64 = 7;

fn fixture_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ssd_format_v1")
}

/// The bytes of one page.
fn page(block: u8, shard: usize) -> Vec<u8> {
    (0..PAGES[shard])
        .map(|at| block.wrapping_mul(31).wrapping_add((at * 7) as u8))
        .collect()
}

fn header() -> SegmentHeader {
    SegmentHeader {
        path_id: PATH_ID,
        number: 0,
        generation: GENERATION,
        bytes: SEGMENT_BYTES,
    }
}

/// Three blocks, of which the second is removed, and what was written on a day.
fn records() -> Vec<Record> {
    let block = |block: u8| {
        let hash = [block; 32];
        let pages: Vec<Vec<u8>> = (0..2).map(|shard| page(block, shard)).collect();
        let write = super::fixture::block_write((SsdSpaceId(0), &KEY), hash, &pages, |_| {});
        Record::Block {
            space: 5,
            uses: block,
            offset: 1 + 3 * u32::from(block),
            hash,
            checksums: write.checksums,
        }
    };
    let mut records = vec![Record::Space(SpaceRecord {
        number: 5,
        key: KEY,
        geometry: geometry(&PAGES),
    })];
    records.extend((0..3).map(block));
    records.push(Record::Removed {
        generation: GENERATION,
        offset: 4,
    });
    records.push(Record::SpaceRemoved {
        space: 5,
        generation: GENERATION - 1,
        offset: 1000,
    });
    records.push(Record::Written {
        day: 20_000,
        bytes: 123_456,
    });
    records
}

/// The first and last bytes of the segment: what lies between is zeros.
fn segment() -> (Vec<u8>, Vec<u8>) {
    let mut data = header().encode();
    for block in 0..3 {
        for shard in 0..2 {
            data.extend(page(block, shard));
            data.resize(data.len().next_multiple_of(UNIT as usize), 0);
        }
    }
    let end = JournalEnd {
        position: 0,
        check: header().first_check(),
    };
    let (journal, at) = JournalTail::new(end, &[]).append(&records(), SEGMENT_BYTES);
    assert_eq!(at + journal.len() as u64, SEGMENT_BYTES);
    (data, journal)
}

#[test]
fn what_is_written_is_what_the_first_release_wrote() {
    let (data, journal) = segment();
    let identity = Identity::new(PATH_ID, [0; 32]).encode();
    for (name, bytes) in [
        ("identity", identity),
        ("segment-begin", data),
        ("segment-end", journal),
    ] {
        let path = fixture_dir().join(name);
        let there = fs::read(&path).unwrap();
        assert!(
            there == bytes,
            "{} is not what this release writes",
            path.display()
        );
    }
}

#[test]
fn what_the_first_release_wrote_is_found() {
    let dir = TempDir::new().unwrap();
    fs::copy(fixture_dir().join("identity"), dir.path().join("pegaflow.ssd")).unwrap();
    let mut segment = fs::read(fixture_dir().join("segment-begin")).unwrap();
    let end = fs::read(fixture_dir().join("segment-end")).unwrap();
    segment.resize(SEGMENT_BYTES as usize - end.len(), 0);
    segment.extend(end);
    fs::write(dir.path().join("segment-000000.ssd"), segment).unwrap();

    let ssd = Ssd::open(config(dir.path())).unwrap();
    assert_eq!(ssd.snapshot().paths[0].recovery.bad_segments, 0);
    let spaces = ssd.spaces();
    assert_eq!((spaces[0].key, &spaces[0].geometry), (KEY, &geometry(&PAGES)));
    for block in 0..3 {
        let extent = ssd.find(spaces[0].id, &[block; 32]);
        assert_eq!(extent.is_some(), block != 1, "block {block}");
        if let Some(extent) = extent {
            let read = super::fixture::read_extent(&ssd, extent, &PAGES).unwrap();
            assert!(read == [page(block, 0), page(block, 1)]);
        }
    }
    ssd.close(super::fixture::deadline()).unwrap();
    // What is there stays when more comes.
    let ssd = Ssd::open(config(dir.path())).unwrap();
    let space = ssd.space(KEY, &geometry(&PAGES)).unwrap();
    let (sender, ended) = std::sync::mpsc::channel();
    let done = move |result| drop(sender.send(result));
    let write = super::fixture::block_write((space, &KEY), [9; 32], &[page(9, 0), page(9, 1)], done);
    ssd.write(write).unwrap();
    ended.recv().unwrap().unwrap();
    ssd.close(super::fixture::deadline()).unwrap();
    drop(ssd);
    let ssd = Ssd::open(config(dir.path())).unwrap();
    for block in [0, 2, 9] {
        let extent = ssd.find(space, &[block; 32]).unwrap();
        let read = super::fixture::read_extent(&ssd, extent, &PAGES).unwrap();
        assert!(read == [page(block, 0), page(block, 1)]);
    }
    assert_eq!(ssd.snapshot().blocks, 3);
    ssd.close(super::fixture::deadline()).unwrap();
}

#[test]
fn records_are_read_as_they_were_written_and_not_behind_others() {
    let mut bytes = Vec::new();
    let mut check = 3;
    for record in records() {
        let start = bytes.len();
        let own = record.append(&mut bytes, check);
        assert_eq!((bytes.len() - start) as u64, record.bytes());
        assert_eq!(
            decode(&bytes[start..], check),
            Some((record, own, bytes.len() - start))
        );
        assert_eq!(decode(&bytes[start..], check + 1), None);
        check = own;
    }
}

#[test]
fn a_journal_that_is_written_in_parts_is_the_same() {
    let first = JournalEnd {
        position: 0,
        check: header().first_check(),
    };
    let many: Vec<Record> = (0..40).flat_map(|_| records()).collect();
    let write = |file: &mut Vec<u8>, tail: &mut JournalTail, records: &[Record]| {
        let (bytes, at) = tail.append(records, SEGMENT_BYTES);
        file[at as usize..at as usize + bytes.len()].copy_from_slice(&bytes);
    };
    let mut at_once = vec![0; SEGMENT_BYTES as usize];
    write(&mut at_once, &mut JournalTail::new(first, &[]), &many);
    let mut in_parts = vec![0; SEGMENT_BYTES as usize];
    let mut tail = JournalTail::new(first, &[]);
    for record in &many {
        write(&mut in_parts, &mut tail, std::slice::from_ref(record));
    }
    assert!(at_once == in_parts);
    assert!(tail.position() > 3 * UNIT);
    assert_eq!(block_at(SEGMENT_BYTES, 0), SEGMENT_BYTES - UNIT);
}
