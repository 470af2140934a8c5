//! Paths that leave while others ask something of them: everybody hears what became of it.

use std::sync::Barrier;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::fixture::{CAPACITY, Fixture, deadline};
use crate::ssd::inbox::{Event, Reply};
use crate::ssd::io::fault::{Disk, Faults};
use crate::ssd::*;

/// What a path can be asked for.
const WISHES: [fn(Reply) -> Event; 4] = [
    Event::Flush,
    Event::Resize,
    |reply| Event::Evict(1, reply),
    |reply| Event::End(PathFiles::Keep, reply),
];

/// Whether it was done, or there was nothing left to do it to.
fn is_answered(asked: &Result<()>) -> bool {
    asked
        .as_ref()
        .err()
        .is_none_or(|error| error.kind() == ErrorKind::NotFound)
}

#[test]
fn a_path_that_has_left_answers_nobody_and_keeps_nobody_waiting() {
    let dir = TempDir::new().unwrap();
    let fixture = Fixture::open(&dir);
    let path = fixture.ssd.path(dir.path()).unwrap();
    fixture
        .ssd
        .remove_path(dir.path(), PathFiles::Keep, deadline())
        .unwrap();
    for wish in WISHES {
        let error = path.ask(wish).wait(&mut deadline().into()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let sentence = format!("{} has left the ssd tier meanwhile", dir.path().display());
        assert_eq!(error.message(), sentence);
    }
}

#[test]
fn whoever_asks_a_path_while_it_leaves_is_answered() {
    for _ in 0..50 {
        let dir = TempDir::new().unwrap();
        let mut fixture = Fixture::open(&dir);
        fixture.write_many(10);
        let (ssd, path, start) = (&fixture.ssd, dir.path(), &Barrier::new(5));
        let begin = || {
            start.wait();
            deadline()
        };
        let asked: Vec<Result<()>> = thread::scope(|scope| {
            let asks = [
                scope.spawn(move || ssd.evict(Some(path), 1, begin()).map(drop)),
                scope.spawn(move || ssd.resize(path, 2 * CAPACITY, begin())),
                scope.spawn(move || ssd.remove_path(path, PathFiles::Keep, begin()).map(drop)),
                scope.spawn(move || ssd.flush(begin())),
                scope.spawn(move || ssd.evict(None, 1, begin()).map(drop)),
            ];
            asks.into_iter().map(|ask| ask.join().unwrap()).collect()
        });
        assert!(asked.iter().all(is_answered), "{asked:?}");
        let [.., flushed, evicted] = asked.as_slice() else {
            unreachable!()
        };
        assert!(flushed.is_ok() && evicted.is_ok(), "what went needs no more");
        assert!(ssd.snapshot().paths.is_empty());
    }
}

#[test]
fn blocks_that_were_left_to_a_path_that_goes_are_let_go() {
    let (dir, disk) = (TempDir::new().unwrap(), Disk::default());
    let mut fixture = Fixture::open_disk(&dir, &disk);
    fixture.write();
    disk.set(Faults {
        delay: Duration::from_millis(50),
        ..Faults::default()
    });
    // More than a path has at its disk at once.
    let ends: Vec<Receiver<Result<()>>> = (0..600)
        .map(|_| {
            let (accepted, ended) = fixture.begin(rand::random());
            accepted.unwrap();
            ended
        })
        .collect();
    fixture
        .ssd
        .remove_path(dir.path(), PathFiles::Keep, deadline())
        .unwrap();
    for ended in ends {
        let time = deadline().saturating_duration_since(Instant::now());
        // Written before it went, or not at all.
        drop(ended.recv_timeout(time).expect("it is told"));
    }
    assert_eq!(fixture.ssd.snapshot().queued_write_bytes, 0);
    let (refused, _) = fixture.begin(rand::random());
    assert_eq!(refused, Err(Refused::Offline));
}
