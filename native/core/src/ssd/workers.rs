//! Threads that take one thing after another from a queue, each alone.

use std::collections::VecDeque;
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::error::{Error, Result};
use crate::sync::{Arc, Condvar, Mutex};

/// The threads; they end when this is dropped, after what they were given.
#[derive(Debug)]
pub(super) struct Workers<T> {
    queue: Arc<Queue<T>>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Queue<T> {
    waiting: Mutex<Waiting<T>>,
    more: Condvar,
    idle: Condvar,
}

#[derive(Debug)]
struct Waiting<T> {
    given: VecDeque<T>,
    /// What was given and is not done.
    open: usize,
    is_closed: bool,
}

impl<T: Send + 'static> Workers<T> {
    /// So many threads, named with their number behind, that do the same with what they are given.
    ///
    /// # Errors
    /// `Io` when the system has no room for a thread.
    pub(super) fn start(name: &str, threads: usize, work: fn(T)) -> Result<Self> {
        let waiting = Waiting {
            given: VecDeque::new(),
            open: 0,
            is_closed: false,
        };
        let mut workers = Self {
            queue: Arc::new(Queue {
                waiting: Mutex::new(waiting),
                more: Condvar::new(),
                idle: Condvar::new(),
            }),
            threads: Vec::new(),
        };
        for number in 0..threads {
            let queue = Arc::clone(&workers.queue);
            let thread = thread::Builder::new()
                .name(format!("{name}-{number}"))
                .spawn(move || {
                    while let Some(next) = queue.next() {
                        work(next);
                        queue.end_one();
                    }
                })
                .map_err(|error| Error::io("start a thread of the ssd tier", error))?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }
}

impl<T> Workers<T> {
    /// Has one of the threads do it.
    pub(super) fn give(&self, next: T) {
        let mut waiting = self.queue.waiting.lock();
        waiting.given.push_back(next);
        waiting.open += 1;
        drop(waiting);
        self.queue.more.notify_one();
    }

    /// Waits until all that was given is done, and nothing of it is held any more; at most until `deadline`.
    pub(super) fn wait_until_idle(&self, deadline: Instant) {
        let mut waiting = self.queue.waiting.lock();
        while waiting.open > 0 && !self.queue.idle.wait_until(&mut waiting, deadline).timed_out() {}
    }
}

impl<T> Drop for Workers<T> {
    fn drop(&mut self) {
        self.queue.waiting.lock().is_closed = true;
        self.queue.more.notify_all();
        let this = thread::current().id();
        for thread in self.threads.drain(..) {
            // The last owner may be what a thread has just done away with: it ends by itself then.
            if thread.thread().id() != this {
                drop(thread.join());
            }
        }
    }
}

impl<T> Queue<T> {
    /// Waits for the next; None at the end.
    fn next(&self) -> Option<T> {
        let mut waiting = self.waiting.lock();
        loop {
            if let Some(next) = waiting.given.pop_front() {
                return Some(next);
            }
            if waiting.is_closed {
                return None;
            }
            self.more.wait(&mut waiting);
        }
    }

    fn end_one(&self) {
        let mut waiting = self.waiting.lock();
        waiting.open -= 1;
        if waiting.open == 0 {
            self.idle.notify_all();
        }
    }
}
