//! A thread that waits stays awake for as long as it is told, and no longer.

use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

use super::*;

#[derive(Default)]
struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

const LONG: Duration = Duration::from_secs(3_600);

/// Whether a poll of the future has it polled again at once.
fn stays_awake(future: std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
    let wakes = Arc::new(Wakes::default());
    let waker = Waker::from(Arc::clone(&wakes));
    assert!(future.poll(&mut Context::from_waker(&waker)).is_pending());
    wakes.0.load(Ordering::SeqCst) > 0
}

#[test]
fn an_answer_that_is_there_is_given_at_once() {
    let mut answer = pin!(awake(ready(7), Duration::ZERO, || false));
    let polled = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    assert_eq!(polled, Poll::Ready(7));
}

#[test]
fn without_patience_the_thread_sleeps() {
    assert!(!stays_awake(pin!(awake(pending(), Duration::ZERO, || true))));
}

#[test]
fn it_stays_awake_while_the_end_is_near() {
    let mut answer = pin!(awake(pending(), LONG, || true));
    for _ in 0..1_000 {
        assert!(stays_awake(answer.as_mut()));
    }
}

#[test]
fn it_sleeps_when_the_end_has_not_come_near() {
    let begun = Instant::now();
    let mut answer = pin!(awake(pending(), LONG, || false));
    while stays_awake(answer.as_mut()) {
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
    assert!(begun.elapsed() >= SETTLING);
}

#[test]
fn an_end_that_is_asked_for_is_seen_at_once_and_a_late_one_is_left_to_others() {
    let ask = |has_ended: bool, patience| {
        let mut asked = pin!(until(|| has_ended, patience));
        asked.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    };
    assert_eq!(ask(true, Duration::ZERO), Poll::Ready(true));
    assert_eq!(ask(false, Duration::ZERO), Poll::Ready(false));
    assert_eq!(ask(false, LONG), Poll::Pending);
}

#[test]
fn long_copies_are_not_stayed_awake_for() {
    assert!(of_copies(1) >= CALL);
    assert_eq!(of_copies(u64::MAX), LONGEST);
}
