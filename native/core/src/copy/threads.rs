//! Threads that help callers with their copies: one thread can use neither the memory's whole bandwidth nor the link's.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Condvar, Mutex};

/// Work in parts that any thread may do, in any order.
pub trait Parts: Send + Sync {
    /// How many parts there are.
    fn count(&self) -> usize;
    /// Does one part; called at most once for each.
    fn run(&self, part: usize) -> Result<()>;
}

/// Helper threads, shared by all copy engines; idle ones sleep.
#[derive(Debug)]
pub struct CopyThreads {
    queue: Arc<Queue>,
    helpers: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Queue {
    jobs: Mutex<Jobs>,
    more: Condvar,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Arc<Job>>,
    closed: bool,
}

struct Job {
    parts: Box<dyn Parts>,
    next: AtomicUsize,
    failed: AtomicBool,
    progress: Mutex<Progress>,
    idle: Condvar,
}

#[derive(Default)]
struct Progress {
    workers: usize,
    error: Option<Error>,
}

impl CopyThreads {
    /// `threads` threads for each copy: the caller's own and `threads - 1` helpers.
    pub fn start(threads: usize) -> Result<Arc<Self>> {
        let mut pool = Self {
            queue: Arc::default(),
            helpers: Vec::new(),
        };
        for index in 1..threads {
            let queue = Arc::clone(&pool.queue);
            let helper = thread::Builder::new()
                .name(format!("pega-copy-{index}"))
                .spawn(move || queue.help())
                .map_err(|source| Error::io("start a copy thread", source))?;
            pool.helpers.push(helper);
        }
        Ok(Arc::new(pool))
    }

    /// Does all parts, with whichever helpers are free, at most `threads` of them at once; returns when no thread is at any of
    /// them any more.
    pub fn run(&self, parts: Box<dyn Parts>, threads: usize) -> Result<()> {
        let job = Arc::new(Job {
            parts,
            next: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            progress: Mutex::default(),
            idle: Condvar::new(),
        });
        let most = threads.min(job.parts.count()).saturating_sub(1);
        let helpers = self.helpers.len().min(most);
        if helpers > 0 {
            self.queue.offer(&job, helpers);
        }
        let offered = Offer {
            queue: &self.queue,
            job: &job,
        };
        job.work();
        drop(offered);
        let error = job.progress.lock().error.take();
        error.map_or(Ok(()), Err)
    }
}

impl Drop for CopyThreads {
    fn drop(&mut self) {
        self.queue.jobs.lock().closed = true;
        self.queue.more.notify_all();
        for helper in self.helpers.drain(..) {
            // A helper that panicked has nothing left to end.
            drop(helper.join());
        }
    }
}

impl Queue {
    fn offer(&self, job: &Arc<Job>, helpers: usize) {
        let mut jobs = self.jobs.lock();
        for _ in 0..helpers {
            jobs.waiting.push_back(Arc::clone(job));
            self.more.notify_one();
        }
    }

    fn help(&self) {
        let mut jobs = self.jobs.lock();
        while !jobs.closed {
            let Some(job) = jobs.waiting.pop_front() else {
                self.more.wait(&mut jobs);
                continue;
            };
            // Counted before the queue is let go: the caller either withdraws the offer or waits for this helper.
            let worker = Worker::join(&job);
            drop(jobs);
            job.work();
            drop(worker);
            jobs = self.jobs.lock();
        }
    }
}

/// A caller's offer of work; when it is dropped, no helper is at the work or can begin.
struct Offer<'a> {
    queue: &'a Queue,
    job: &'a Arc<Job>,
}

impl Drop for Offer<'_> {
    fn drop(&mut self) {
        self.queue
            .jobs
            .lock()
            .waiting
            .retain(|waiting| !Arc::ptr_eq(waiting, self.job));
        let mut progress = self.job.progress.lock();
        while progress.workers > 0 {
            self.job.idle.wait(&mut progress);
        }
    }
}

struct Worker<'a>(&'a Job);

impl<'a> Worker<'a> {
    fn join(job: &'a Job) -> Self {
        job.progress.lock().workers += 1;
        Self(job)
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.0.progress.lock().workers -= 1;
        self.0.idle.notify_one();
    }
}

impl Job {
    fn work(&self) {
        while !self.failed.load(Ordering::Relaxed) {
            let part = self.next.fetch_add(1, Ordering::Relaxed);
            if part >= self.parts.count() {
                return;
            }
            // A panic is a failed part: a copy with bytes missing must never pass for a whole one.
            let done = catch_unwind(AssertUnwindSafe(|| self.parts.run(part)));
            if let Err(error) = done.unwrap_or_else(|_| Err(panicked(part))) {
                self.failed.store(true, Ordering::Relaxed);
                self.progress.lock().error.get_or_insert(error);
            }
        }
    }
}

fn panicked(part: usize) -> Error {
    Error::new(ErrorKind::Io, format!("part {part} of a copy ended in a panic"))
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue")
            .field("waiting", &self.jobs.lock().waiting.len())
            .finish()
    }
}
