use std::sync::Arc;
use std::sync::Barrier;

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
    let (sender, receiver) = std::sync::mpsc::channel();
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
