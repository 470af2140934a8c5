use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use super::threads::Begun;
use super::*;
use crate::telemetry::Direction;

#[tokio::test]
async fn a_panic_fails_its_own_transfer_and_the_threads_go_on() {
    let points = PointWatch::start().unwrap();
    let threads = TransferThreads::start(Direction::Save, &points).unwrap();
    for _ in 0..5 {
        let error = threads
            .run(|| -> Result<()> { panic!("a bug of mine") })
            .await
            .unwrap_err();
        assert!(error.message().contains("a bug of mine"), "{error}");
    }
    assert_eq!(threads.run(|| Ok(7)).await.unwrap(), 7);
    threads.idle().await;
}

#[tokio::test]
async fn work_goes_on_when_nobody_waits_for_it() {
    let points = PointWatch::start().unwrap();
    let threads = TransferThreads::start(Direction::Load, &points).unwrap();
    let (gate, done) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let (work_gate, work_done) = (Arc::clone(&gate), Arc::clone(&done));
    let mut waiting = Box::pin(threads.run(move || {
        work_gate.wait();
        work_done.wait();
        Ok(())
    }));
    let is_waiting = tokio::select! {
        biased;
        _ = &mut waiting => false,
        () = std::future::ready(()) => true,
    };
    assert!(is_waiting);
    drop(waiting);
    gate.wait();
    let finish = std::thread::spawn(move || done.wait());
    threads.idle().await;
    finish.join().unwrap();
}

#[tokio::test]
async fn work_that_waits_for_a_thread_is_done_before_the_threads_end() {
    let points = PointWatch::start().unwrap();
    let threads = TransferThreads::start(Direction::Save, &points).unwrap();
    let (sender, receiver) = mpsc::channel();
    let mut waiting: Vec<_> = (0..50)
        .map(|index| {
            let sender = sender.clone();
            Box::pin(threads.run(move || {
                sender.send(index).unwrap();
                Ok(())
            }))
        })
        .collect();
    for work in &mut waiting {
        // The first poll hands the work over.
        tokio::select! { biased; _ = work => {}, () = std::future::ready(()) => {} }
    }
    drop(waiting);
    drop(threads);
    drop(sender);
    assert_eq!(receiver.iter().count(), 50);
}

/// Ends when it is told to; `finish` says so.
struct Ends {
    end: Arc<AtomicBool>,
    finished: mpsc::Sender<bool>,
}

impl Begun for Ends {
    type End = ();

    fn has_ended(&self) -> bool {
        self.end.load(Ordering::SeqCst)
    }

    fn finish(self) -> Result<()> {
        while !self.has_ended() {
            std::thread::yield_now();
        }
        self.finished.send(self.has_ended()).unwrap();
        Ok(())
    }
}

const LONG: Duration = Duration::from_secs(3_600);

fn begun() -> (Ends, Arc<AtomicBool>, mpsc::Receiver<bool>) {
    let (finished, answers) = mpsc::channel();
    let end = Arc::new(AtomicBool::new(false));
    let begun = Ends {
        end: Arc::clone(&end),
        finished,
    };
    (begun, end, answers)
}

#[tokio::test]
async fn what_has_ended_is_answered_at_once() {
    let points = PointWatch::start().unwrap();
    let threads = TransferThreads::start(Direction::Load, &points).unwrap();
    let (begun, end, answers) = begun();
    end.store(true, Ordering::SeqCst);
    let answer = Box::pin(threads.finish(begun, Duration::ZERO));
    tokio::select! { biased; end = answer => end.unwrap(), () = std::future::ready(()) => unreachable!("it has ended") }
    assert!(answers.try_recv().unwrap());
}

#[tokio::test]
async fn what_does_not_end_soon_is_waited_for_by_a_thread() {
    let points = PointWatch::start().unwrap();
    let threads = TransferThreads::start(Direction::Load, &points).unwrap();
    let (begun, end, answers) = begun();
    let mut waiting = Box::pin(threads.finish(begun, Duration::ZERO));
    // The runtime's thread is free meanwhile.
    tokio::select! { biased; _ = &mut waiting => unreachable!("it has not ended"), () = std::future::ready(()) => {} }
    end.store(true, Ordering::SeqCst);
    waiting.await.unwrap();
    assert!(answers.recv().unwrap());
}

#[tokio::test]
async fn what_has_begun_is_finished_when_nobody_waits_for_it() {
    let points = PointWatch::start().unwrap();
    let threads = TransferThreads::start(Direction::Load, &points).unwrap();
    let (begun, end, answers) = begun();
    let mut waiting = Box::pin(threads.finish(begun, LONG));
    tokio::select! { biased; _ = &mut waiting => unreachable!("it has not ended"), () = std::future::ready(()) => {} }
    drop(waiting);
    assert!(answers.try_recv().is_err());
    end.store(true, Ordering::SeqCst);
    threads.idle().await;
    assert!(answers.try_recv().unwrap());
}
