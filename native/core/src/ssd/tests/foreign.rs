//! Files that are named like segments and are not those of the path: they stay as they are.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::fixture::{CAPACITY, Fixture, PADDED_BYTES, config, deadline, fresh};
use crate::ssd::format::{Identity, SegmentHeader};
use crate::ssd::*;

const SEGMENT_BYTES: u64 = 4 << 20;

fn segment(dir: &Path, number: u32) -> PathBuf {
    dir.join(format!("segment-{number:06}.ssd"))
}

fn path_id(dir: &Path) -> [u8; 16] {
    let identity = fs::read(dir.join("pegaflow.ssd")).unwrap();
    Identity::decode(&identity).unwrap().path_id
}

/// A segment file of random blocks.
fn make_segment(file: &Path, path_id: [u8; 16], number: u32, generation: u64) {
    let header = SegmentHeader {
        path_id,
        number,
        generation,
        bytes: SEGMENT_BYTES,
    };
    fs::write(file, fresh(SEGMENT_BYTES as usize)).unwrap();
    let file = File::options().write(true).open(file).unwrap();
    file.write_all_at(&header.encode(), 0).unwrap();
}

/// What is there: its bytes, or what else it is.
fn contents(file: &Path) -> (fs::FileType, Option<Vec<u8>>) {
    let kind = fs::symlink_metadata(file).unwrap().file_type();
    // A link is as it was when its target is.
    let has_bytes = kind.is_file() || kind.is_symlink();
    (kind, has_bytes.then(|| fs::read(file).unwrap()))
}

/// Writes more than there is room for, so that all segments are used.
fn fill(fixture: &mut Fixture) {
    fixture.write_many((2 * CAPACITY / PADDED_BYTES) as usize);
    assert!(fixture.check_all() as u64 * PADDED_BYTES > CAPACITY / 2);
    let path = fixture.path();
    assert_eq!(path.state, PathState::Online);
    assert!(path.used <= CAPACITY, "{path:?}");
}

#[test]
fn files_of_others_stay_as_they_are() {
    let outer = TempDir::new().unwrap();
    let dir = outer.path().join("path");
    let mut fixture = Fixture::open_config(config(&dir));
    let hash = fixture.write();
    fixture.close();
    let own = path_id(&dir);

    let others: Vec<PathBuf> = [3, 4, 5, 6, 7, 8, 9, 10, 11, 12, u32::MAX]
        .into_iter()
        .map(|number| segment(&dir, number))
        .chain([
            dir.join("segment-0000001.ssd"),
            dir.join("segment-99999999999.ssd"),
        ])
        .collect();
    fs::write(&others[0], "notes").unwrap();
    fs::write(&others[1], "").unwrap();
    fs::write(&others[2], vec![0; SEGMENT_BYTES as usize]).unwrap();
    fs::write(&others[3], fresh(SEGMENT_BYTES as usize)).unwrap();
    make_segment(&others[4], [5; 16], 7, 9);
    // A copy under another name.
    make_segment(&others[5], own, 0, 9);
    let linked = outer.path().join("linked");
    make_segment(&linked, own, 9, 9);
    symlink(&linked, &others[6]).unwrap();
    fs::create_dir(&others[7]).unwrap();
    let _socket = UnixListener::bind(&others[8]).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &others[9], rustix::fs::Mode::RUSR).unwrap();
    fs::write(&others[10], fresh(SEGMENT_BYTES as usize)).unwrap();
    make_segment(&others[11], own, 1, 9);
    make_segment(&others[12], own, 1, 9);
    let before: Vec<_> = others.iter().map(|file| contents(file)).collect();

    let mut fixture = fixture.reopen(None);
    assert!(fixture.has(&hash));
    assert_eq!(fixture.path().recovery.bad_segments, 11);
    fill(&mut fixture);
    fixture.ssd.resize(&dir, 2 * CAPACITY, deadline()).unwrap();
    fill_twice_and_shrink(&mut fixture, &dir);
    fixture.close();
    let fixture = fixture.reopen(None);
    fixture
        .ssd
        .remove_path(&dir, PathFiles::Delete, deadline())
        .unwrap();
    let after: Vec<_> = others.iter().map(|file| contents(file)).collect();
    assert!(after == before);
    assert_eq!(fs::read_dir(&dir).unwrap().count(), others.len());
}

#[test]
fn what_others_take_in_a_directory_is_not_held_by_its_path() {
    let dir = TempDir::new().unwrap();
    let fixture = Fixture::open(&dir);
    let used = fixture.path().used;
    fixture.close();
    let held = held_bytes(dir.path()).unwrap();
    assert!((1..=used).contains(&held), "{held} of {used}");
    let (own, other) = (path_id(dir.path()), [5; 16]);
    make_segment(&segment(dir.path(), 70), other, 70, 1);
    // A copy under another name.
    make_segment(&segment(dir.path(), 71), own, 70, 1);
    fs::create_dir(segment(dir.path(), 72)).unwrap();
    symlink("/dev/zero", segment(dir.path(), 73)).unwrap();
    assert_eq!(held_bytes(dir.path()).unwrap(), held);
    // One that is damaged may be its own.
    fs::write(segment(dir.path(), 74), fresh(SEGMENT_BYTES as usize)).unwrap();
    assert!(held_bytes(dir.path()).unwrap() >= held + SEGMENT_BYTES);
}

fn fill_twice_and_shrink(fixture: &mut Fixture, dir: &Path) {
    fixture.write_many((2 * CAPACITY / PADDED_BYTES) as usize);
    fixture.ssd.resize(dir, CAPACITY, deadline()).unwrap();
    fixture.write_many(100);
}

#[test]
fn a_path_goes_on_behind_the_largest_number() {
    let dir = TempDir::new().unwrap();
    let fixture = Fixture::open(&dir);
    fixture.close();
    let last = segment(dir.path(), u32::MAX);
    make_segment(&last, path_id(dir.path()), u32::MAX, 0);
    let mut fixture = fixture.reopen(None);
    fill(&mut fixture);
    assert!(last.exists());
    fixture.close();
    let fixture = fixture.reopen(None);
    assert_eq!(fixture.path().recovery.bad_segments, 0);
    fixture.close();
}

#[test]
fn a_segment_that_was_not_made_to_its_end_is_deleted() {
    let dir = TempDir::new().unwrap();
    let fixture = Fixture::open(&dir);
    fixture.close();
    let file = segment(dir.path(), 70);
    for bytes in [4096, 5000, 1 << 20, SEGMENT_BYTES - 4096] {
        make_segment(&file, path_id(dir.path()), 70, 0);
        File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_len(bytes)
            .unwrap();
        Fixture::open(&dir).close();
        assert!(!file.exists(), "{bytes} bytes");
    }
}
