//! Copy threads do every part once, and leave nothing running.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use super::super::threads::Parts;
use crate::copy::CopyThreads;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex};

struct Counted {
    runs: Vec<AtomicU32>,
    running: AtomicUsize,
    fails_at: Option<usize>,
}

struct Shared(Arc<Counted>);

impl Parts for Shared {
    fn count(&self) -> usize {
        self.0.runs.len()
    }

    fn run(&self, part: usize) -> Result<()> {
        self.0.running.fetch_add(1, Ordering::SeqCst);
        self.0.runs[part].fetch_add(1, Ordering::SeqCst);
        thread::yield_now();
        self.0.running.fetch_sub(1, Ordering::SeqCst);
        if self.0.fails_at == Some(part) {
            Err(Error::new(ErrorKind::Io, part.to_string()))
        } else {
            Ok(())
        }
    }
}

fn counted(parts: usize, fails_at: Option<usize>) -> Arc<Counted> {
    let runs = (0..parts).map(|_| AtomicU32::new(0)).collect();
    Arc::new(Counted {
        runs,
        running: AtomicUsize::new(0),
        fails_at,
    })
}

fn runs(counted: &Counted) -> Vec<u32> {
    counted
        .runs
        .iter()
        .map(|runs| runs.load(Ordering::SeqCst))
        .collect()
}

#[test]
fn every_part_is_done_once_whoever_calls_at_the_same_time() {
    for threads in 1..=4 {
        let pool = CopyThreads::start(threads).unwrap();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for parts in [0, 1, 2, 3, 17, 100] {
                        let counted = counted(parts, None);
                        pool.run(Box::new(Shared(Arc::clone(&counted))), usize::MAX)
                            .unwrap();
                        assert_eq!(
                            counted.running.load(Ordering::SeqCst),
                            0,
                            "a part still ran after the return"
                        );
                        assert_eq!(runs(&counted), vec![1; parts]);
                    }
                });
            }
        });
    }
}

#[test]
fn an_error_ends_the_work_and_is_the_result() {
    for threads in 1..=3 {
        let pool = CopyThreads::start(threads).unwrap();
        let counted = counted(100, Some(3));
        let error = pool
            .run(Box::new(Shared(Arc::clone(&counted))), usize::MAX)
            .unwrap_err();
        assert_eq!(error.message(), "3");
        assert_eq!(counted.running.load(Ordering::SeqCst), 0);
        if threads == 1 {
            assert_eq!(runs(&counted).iter().sum::<u32>(), 4, "parts were done in vain");
        }
        let next = self::counted(10, None);
        pool.run(Box::new(Shared(Arc::clone(&next))), usize::MAX).unwrap();
        assert_eq!(runs(&next), [1; 10]);
    }
}

/// Two parts, of which each ends only once both have begun.
struct Meeting {
    begun: Mutex<Vec<ThreadId>>,
    both: Condvar,
}

impl Parts for Arc<Meeting> {
    fn count(&self) -> usize {
        2
    }

    fn run(&self, _part: usize) -> Result<()> {
        let mut begun = self.begun.lock();
        begun.push(thread::current().id());
        self.both.notify_all();
        while begun.len() < 2 {
            self.both.wait(&mut begun);
        }
        Ok(())
    }
}

#[test]
fn caller_and_helper_work_at_the_same_time() {
    let pool = CopyThreads::start(2).unwrap();
    let meeting = Arc::new(Meeting {
        begun: Mutex::default(),
        both: Condvar::new(),
    });
    pool.run(Box::new(Arc::clone(&meeting)), usize::MAX).unwrap();
    let begun = meeting.begun.lock();
    assert_ne!(begun[0], begun[1]);
    assert!(begun.contains(&thread::current().id()));
}

/// Panics in one part, on whichever thread has it.
struct Panics {
    parts: usize,
    at: usize,
}

impl Parts for Panics {
    fn count(&self) -> usize {
        self.parts
    }

    fn run(&self, part: usize) -> Result<()> {
        assert_ne!(part, self.at, "the panic that this test is about");
        Ok(())
    }
}

#[test]
fn a_panic_in_any_part_fails_the_copy_and_costs_no_thread() {
    let pool = CopyThreads::start(3).unwrap();
    for at in 0..20 {
        let error = pool
            .run(Box::new(Panics { parts: 20, at }), usize::MAX)
            .unwrap_err();
        assert_eq!(error.message(), format!("part {at} of a copy ended in a panic"));
    }
    let counted = counted(50, None);
    pool.run(Box::new(Shared(Arc::clone(&counted))), usize::MAX)
        .unwrap();
    assert!(runs(&counted).iter().all(|runs| *runs == 1));
}

/// Notes the most threads that were at parts at once.
#[derive(Default)]
struct Crowd {
    here: AtomicUsize,
    most: AtomicUsize,
}

impl Parts for Arc<Crowd> {
    fn count(&self) -> usize {
        200
    }

    fn run(&self, _part: usize) -> Result<()> {
        let here = self.here.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(here, Ordering::SeqCst);
        thread::yield_now();
        self.here.fetch_sub(1, Ordering::SeqCst);
        Ok(())
    }
}

#[test]
fn no_more_threads_are_at_a_copy_than_it_asks_for() {
    let pool = CopyThreads::start(5).unwrap();
    for threads in 1..=4 {
        let crowd = Arc::new(Crowd::default());
        pool.run(Box::new(Arc::clone(&crowd)), threads).unwrap();
        assert!(crowd.most.load(Ordering::SeqCst) <= threads);
    }
}
