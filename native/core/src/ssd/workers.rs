//! Threads that take one thing after another from a queue, each alone.

use std::collections::VecDeque;
use std::thread::{self, JoinHandle};

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
}

#[derive(Debug)]
struct Waiting<T> {
    given: VecDeque<T>,
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
            is_closed: false,
        };
        let mut workers = Self {
            queue: Arc::new(Queue {
                waiting: Mutex::new(waiting),
                more: Condvar::new(),
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
        self.queue.waiting.lock().given.push_back(next);
        self.queue.more.notify_one();
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
}
