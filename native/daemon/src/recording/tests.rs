//! What is recorded can be read, whatever became of the daemon, and never takes more than it may.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use pegaflow_core::error::ErrorKind;
use rand::Rng;

use super::files::Files;
use super::{Asked, Recording, RecordingSnapshot};
use crate::events::EventLog;

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

fn new_recording() -> Recording {
    Recording::new(Arc::new(EventLog::new()))
}

/// What a recording has told to the daemon's events.
fn told(recording: &Recording) -> Vec<String> {
    let page = serde_json::to_value(recording.events.after(0, String::new())).unwrap();
    let events = page["events"].as_array().unwrap().iter();
    events
        .inspect(|event| assert_eq!(event["kind"], "recording"))
        .map(|event| event["text"].as_str().unwrap().to_owned())
        .collect()
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

/// The recordings of a directory, which lie beside its key.
fn recordings(directory: &Path) -> Vec<PathBuf> {
    let mut paths = files_of(directory);
    paths.retain(|path| path.extension().is_some_and(|end| end == "gz"));
    paths
}

/// Records these lookups into a directory.
fn recorded(directory: &Path, lookups: Vec<Asked>) -> RecordingSnapshot {
    let recording = new_recording();
    recording.start(directory, 1 << 20).unwrap();
    for lookup in lookups {
        recording.record(|| Ok(lookup)).unwrap();
    }
    recording.stop().unwrap()
}

/// The ids of all lookups in a directory.
fn all_ids(directory: &Path) -> Vec<Vec<u64>> {
    let texts: Vec<_> = recordings(directory).iter().map(|path| text_of(path)).collect();
    texts.iter().flat_map(|text| text.lines()).map(ids).collect()
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !condition() {
        assert!(Instant::now() < deadline, "not within 60 s: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn equal_hashes_have_equal_ids_that_are_not_the_hashes() {
    let directory = tempfile::tempdir().unwrap();
    let hashes: Vec<[u8; 32]> = (0..3).map(|_| rand::rng().random()).collect();
    let snapshot = recorded(directory.path(), vec![asked(&hashes[..2]), asked(&hashes)]);
    assert_eq!((snapshot.lookups, snapshot.left_out), (2, 0));
    let lines = all_ids(directory.path());
    assert_eq!(lines[0], lines[1][..2]);
    assert_eq!(lines[1].len(), 3);
    assert_ne!(lines[1][1], lines[1][2]);
    for hash in &hashes {
        let raw = u64::from_le_bytes(hash[..8].try_into().unwrap());
        assert!(!lines[1].contains(&raw));
    }
}

#[test]
fn ids_are_those_of_their_directory_whoever_records_and_when() {
    let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let hash: [u8; 32] = rand::rng().random();
    for directory in [&one, &one, &other] {
        recorded(directory.path(), vec![asked(&[hash])]);
    }
    let [first, again] = &all_ids(one.path())[..] else {
        panic!("two lookups were recorded");
    };
    assert_eq!(first, again);
    assert_ne!(first, &all_ids(other.path())[0]);
    // With the key they can be made one.
    let joined = tempfile::tempdir().unwrap();
    fs::copy(one.path().join("ids.key"), joined.path().join("ids.key")).unwrap();
    recorded(joined.path(), vec![asked(&[hash])]);
    assert_eq!(first, &all_ids(joined.path())[0]);
}

#[test]
fn equal_hashes_of_two_namespaces_or_groups_have_different_ids() {
    let directory = tempfile::tempdir().unwrap();
    let hash: [u8; 32] = rand::rng().random();
    let of = |namespace: &str, group| Asked {
        namespace: namespace.to_owned(),
        group,
        ..asked(&[hash])
    };
    recorded(directory.path(), vec![of("a", 0), of("b", 0), of("a", 1)]);
    let mut ids = all_ids(directory.path()).concat();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

#[test]
fn the_key_is_its_owners_alone_and_one_that_is_none_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("ids.key");
    // As where the machine went down when it was made.
    fs::write(&key, "").unwrap();
    recorded(directory.path(), vec![asked(&[[7; 32]])]);
    let text = fs::read_to_string(&key).unwrap();
    assert!(text.len() == 33 && text.trim_end().chars().all(|digit| digit.is_ascii_hexdigit()));
    fs::remove_file(&key).unwrap();
    recorded(directory.path(), vec![asked(&[[7; 32]])]);
    assert_eq!(fs::metadata(&key).unwrap().mode() & 0o777, 0o600);
    for broken in ["abc".to_owned(), "x".repeat(32), "0".repeat(33)] {
        fs::write(&key, broken).unwrap();
        let refused = new_recording().start(directory.path(), 1 << 20).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Config);
        assert!(refused.message().contains("ids.key"), "{refused}");
    }
}

#[test]
fn a_directory_has_one_recorder_and_a_daemon_one_recording() {
    let [directory, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let recording = new_recording();
    assert_eq!(recording.stop().unwrap_err().kind(), ErrorKind::Conflict);
    recording.start(directory.path(), 1 << 20).unwrap();
    let again = recording.start(other.path(), 1 << 20).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Conflict);
    assert!(
        again.message().contains(directory.path().to_str().unwrap()),
        "{again}"
    );
    let elsewhere = new_recording();
    let twice = elsewhere.start(directory.path(), 1 << 20).unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::Conflict);
    recording.stop().unwrap();
    assert!(recording.snapshot().is_none());
    elsewhere.start(directory.path(), 1 << 20).unwrap();
}

#[test]
fn times_never_go_back() {
    let directory = tempfile::tempdir().unwrap();
    let at = |time_ms| Asked {
        time_ms,
        ..asked(&[[7; 32]])
    };
    recorded(directory.path(), vec![at(5), at(3), at(8)]);
    let text = text_of(&recordings(directory.path())[0]);
    let times = text.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["timestamp"].as_u64().unwrap()
    });
    assert_eq!(times.collect::<Vec<_>>(), [5, 5, 8]);
}

#[test]
fn what_is_written_can_be_read_while_the_recording_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let recording = new_recording();
    recording.start(directory.path(), 1 << 20).unwrap();
    recording.record(|| Ok(asked(&[[7; 32]]))).unwrap();
    until("a lookup is written", || {
        recording.snapshot().unwrap().lookups == 1
    });
    assert_eq!(text_of(&recordings(directory.path())[0]).lines().count(), 1);
}

#[test]
fn what_cannot_be_written_is_left_out_and_said_until_it_can() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("recording");
    let recording = new_recording();
    recording.start(&directory, 1 << 20).unwrap();
    fs::remove_dir_all(&directory).unwrap();
    recording.record(|| Ok(asked(&[[7; 32]]))).unwrap();
    until("it is said", || recording.snapshot().unwrap().error.is_some());
    let snapshot = recording.snapshot().unwrap();
    assert_eq!((snapshot.lookups, snapshot.left_out), (0, 1));
    fs::create_dir(&directory).unwrap();
    recording.record(|| Ok(asked(&[[7; 32]]))).unwrap();
    let snapshot = recording.stop().unwrap();
    assert_eq!((snapshot.lookups, snapshot.error), (1, None));
    let directory = directory.display();
    assert_eq!(
        told(&recording),
        [
            format!("lookups cannot be recorded into {directory}: No such file or directory"),
            format!("lookups are recorded into {directory} again"),
        ]
    );
}

#[test]
fn a_directory_that_cannot_be_used_is_named_with_what_can() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name);
    fs::write(at("file"), "").unwrap();
    symlink(at("nowhere"), at("dangling")).unwrap();
    fs::create_dir_all(at("key/ids.key")).unwrap();
    let refused = ["file", "file/below", "dangling", "key"].map(|name| {
        let refused = new_recording().start(&at(name), 1 << 20).unwrap_err();
        assert!(
            refused.message().contains(at(name).to_str().unwrap()),
            "{refused}"
        );
        refused.message().to_owned()
    });
    let long = new_recording().start(&at(&"x".repeat(300)), 1 << 20).unwrap_err();
    let remedy = "; give a directory that the daemon may write to, or one that is not there yet";
    for message in refused.iter().map(String::as_str).chain([long.message()]) {
        assert!(message.contains(" cannot be used for recordings: "), "{message}");
        assert!(
            message.ends_with(remedy) && !message.contains("os error"),
            "{message}"
        );
    }
}

#[test]
fn more_than_the_file_system_has_is_told_when_it_begins() {
    let directory = tempfile::tempdir().unwrap();
    let recording = new_recording();
    assert_eq!(recording.start(directory.path(), 1 << 20).unwrap().shortage, None);
    recording.stop().unwrap();
    assert!(told(&recording).is_empty());
    let shortage = recording
        .start(directory.path(), 1 << 60)
        .unwrap()
        .shortage
        .unwrap();
    assert!(
        shortage.contains(directory.path().to_str().unwrap()) && shortage.contains("1.0 EiB"),
        "{shortage}"
    );
    assert_eq!(told(&recording), [shortage]);
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

#[test]
fn files_that_somebody_moves_or_deletes_are_followed_by_new_ones() {
    let directory = tempfile::tempdir().unwrap();
    let mut files = Files::open(directory.path(), 1 << 20).unwrap();
    let mut now = SystemTime::UNIX_EPOCH;
    let away = directory.path().join("away");
    for round in 0..3 {
        for text in ["first", "second"] {
            now += Duration::from_secs(1);
            files.append(&format!("{text} {round}\n"), now).unwrap();
        }
        let there = recordings(directory.path());
        assert_eq!(there.len(), 1, "the newest takes what follows");
        assert_eq!(text_of(&there[0]), format!("first {round}\nsecond {round}\n"));
        assert_eq!(files.bytes(), fs::metadata(&there[0]).unwrap().len());
        match round {
            0 => fs::remove_file(&there[0]).unwrap(),
            _ => fs::rename(&there[0], &away).unwrap(),
        }
    }
}

/// Records a lookup into a directory whose key this happens to meanwhile.
fn recorded_while(directory: &Path, change: impl FnOnce(&Path)) -> (RecordingSnapshot, Vec<String>) {
    let recording = new_recording();
    recording.start(directory, 1 << 20).unwrap();
    change(&directory.join("ids.key"));
    recording.record(|| Ok(asked(&[[1; 32]]))).unwrap();
    (recording.stop().unwrap(), told(&recording))
}

#[test]
fn a_key_that_somebody_takes_away_is_there_again_for_the_next_daemon() {
    let directory = tempfile::tempdir().unwrap();
    let key = directory.path().join("ids.key");
    recorded(directory.path(), Vec::new());
    let text = fs::read(&key).unwrap();
    let copied = key.with_extension("new");
    let losses: [&dyn Fn(&Path); 2] = [&|key| fs::remove_file(key).unwrap(), &|key| {
        fs::copy(key, &copied).unwrap();
        fs::rename(&copied, key).unwrap();
    }];
    for lose in losses {
        let (ended, _) = recorded_while(directory.path(), lose);
        assert_eq!((ended.lookups, ended.left_out, ended.error), (1, 0, None));
        assert_eq!(fs::read(&key).unwrap(), text);
    }
    let ids = all_ids(directory.path());
    assert_eq!((ids.len(), &ids[0]), (2, &ids[1]));
}

#[test]
fn nothing_is_recorded_beside_another_key() {
    let directory = tempfile::tempdir().unwrap();
    let other = "0123456789abcdef0123456789abcdef\n";
    let (ended, told) = recorded_while(directory.path(), |key| {
        fs::remove_file(key).unwrap();
        fs::write(key, other).unwrap();
    });
    assert_eq!((ended.lookups, ended.left_out), (0, 1));
    let error = ended.error.unwrap();
    assert!(
        error.contains("ids.key is another key than the recording began with"),
        "{error}"
    );
    assert!(told.iter().any(|text| text.contains(&error)));
    assert!(recordings(directory.path()).is_empty());
    assert_eq!(
        fs::read_to_string(directory.path().join("ids.key")).unwrap(),
        other
    );
}
