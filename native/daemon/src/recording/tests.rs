//! What is recorded can be read, whatever became of the daemon, and never takes more than it may.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use rand::Rng;

use super::files::Files;
use super::{Asked, Recorder};

fn files_of(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    paths
}

fn text_of(path: &Path) -> String {
    let mut text = String::new();
    MultiGzDecoder::new(fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    text
}

fn asked(hashes: &[[u8; 32]]) -> Asked {
    Asked {
        time_ms: 1_700_000_000_123,
        namespace: "0123456789abcdef".to_owned(),
        group: 0,
        block_bytes: 4096,
        memory: 1,
        ssd: 0,
        hashes: Bytes::from(hashes.concat()),
        hash_bytes: 32,
    }
}

fn ids(line: &str) -> Vec<u64> {
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    line["hash_ids"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_u64().unwrap())
        .collect()
}

#[test]
fn equal_hashes_have_equal_ids_that_are_not_the_hashes() {
    let directory = tempfile::tempdir().unwrap();
    let hashes: Vec<[u8; 32]> = (0..3).map(|_| rand::rng().random()).collect();
    let recorder = Recorder::start(directory.path().join("recording"), 1 << 20).unwrap();
    recorder.record(asked(&hashes[..2]));
    recorder.record(asked(&hashes));
    drop(recorder);
    let [file] = &files_of(&directory.path().join("recording"))[..] else {
        panic!("one file is enough");
    };
    let text = text_of(file);
    let lines: Vec<_> = text.lines().map(ids).collect();
    assert_eq!(lines[0], lines[1][..2]);
    assert_eq!(lines[1].len(), 3);
    assert_ne!(lines[1][1], lines[1][2]);
    for hash in &hashes {
        let raw = u64::from_le_bytes(hash[..8].try_into().unwrap());
        assert!(!lines[1].contains(&raw));
    }
}

#[test]
fn two_recordings_of_one_hash_have_different_ids() {
    let directory = tempfile::tempdir().unwrap();
    let hash: [u8; 32] = rand::rng().random();
    let mut seen = Vec::new();
    for name in ["a", "b"] {
        let place = directory.path().join(name);
        let recorder = Recorder::start(place.clone(), 1 << 20).unwrap();
        recorder.record(asked(&[hash]));
        drop(recorder);
        seen.push(ids(text_of(&files_of(&place)[0]).trim_end()));
    }
    assert_ne!(seen[0], seen[1]);
}

#[test]
fn what_is_written_can_be_read_while_the_recording_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let recorder = Recorder::start(directory.path().to_owned(), 1 << 20).unwrap();
    recorder.record(asked(&[[7; 32]]));
    let deadline = Instant::now() + Duration::from_secs(60);
    while recorder.snapshot().lookups == 0 {
        assert!(Instant::now() < deadline, "nothing was written");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(text_of(&files_of(directory.path())[0]).lines().count(), 1);
}

#[test]
fn the_files_never_take_more_than_they_may_and_the_newest_stay() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("mine.txt"), "mine").unwrap();
    let most = 64 << 10;
    let mut files = Files::open(directory.path(), most).unwrap();
    for number in 0..200 {
        let noise: Vec<u8> = (0..1000).map(|_| rand::rng().random_range(b' '..b'~')).collect();
        let text = format!("{number} {}\n", String::from_utf8(noise).unwrap());
        files.append(&text, SystemTime::now()).unwrap();
        let bytes: u64 = files_of(directory.path())
            .iter()
            .filter(|path| path.extension().is_some_and(|end| end == "gz"))
            .map(|path| fs::metadata(path).unwrap().len())
            .sum();
        assert_eq!(bytes, files.bytes());
        assert!(bytes <= most);
        if number == 100 {
            // As after a restart.
            files = Files::open(directory.path(), most).unwrap();
        }
    }
    assert!(files.bytes() > most / 2);
    let newest = files_of(directory.path());
    let newest = newest
        .iter()
        .rfind(|path| path.extension().is_some_and(|end| end == "gz"));
    assert!(
        text_of(newest.unwrap())
            .lines()
            .last()
            .unwrap()
            .starts_with("199 ")
    );
    assert_eq!(fs::read(directory.path().join("mine.txt")).unwrap(), b"mine");
}
