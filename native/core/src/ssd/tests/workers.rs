//! Threads that take one thing after another.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::ssd::workers::Workers;
use crate::sync::Arc;

#[test]
fn what_was_given_is_held_by_nobody_once_they_are_idle() {
    let work = |(go, _held): (Receiver<()>, Arc<()>)| go.recv().unwrap();
    let workers = Workers::start("test", 2, work).unwrap();
    let held = Arc::new(());
    let gates: Vec<_> = (0..20)
        .map(|_| {
            let (open, go) = channel();
            workers.give((go, Arc::clone(&held)));
            open
        })
        .collect();
    workers.wait_until_idle(Instant::now() + Duration::from_millis(1));
    assert!(Arc::strong_count(&held) > 1, "none of them can have ended");
    gates.iter().for_each(|open| open.send(()).unwrap());
    workers.wait_until_idle(Instant::now() + Duration::from_secs(60));
    assert_eq!(Arc::strong_count(&held), 1);
}
