//! Threads that transfers run on, so that a long copy never holds up a lookup.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::pause;
use tokio::sync::{oneshot, watch};

use super::PointWatch;
use super::points::{Point, Watched};
use crate::session::Registration;
use crate::telemetry::Direction;

/// Transfers of one direction at one time: the copy threads serve all of them, and the second fills the first one's gaps.
const THREADS: usize = 2;

type Job = Box<dyn FnOnce() + Send>;

/// The threads for one direction; they end when this is dropped and their work is done.
#[derive(Debug)]
pub(crate) struct TransferThreads {
    direction: Direction,
    queue: Arc<Queue>,
    points: Arc<Watched>,
    unfinished: watch::Sender<usize>,
}

#[derive(Default)]
struct Queue {
    jobs: Mutex<Jobs>,
    more: Condvar,
}

#[derive(Default)]
struct Jobs {
    waiting: VecDeque<Job>,
    is_closed: bool,
}

impl TransferThreads {
    /// Starts the threads.
    ///
    /// # Errors
    /// `Io` when the system has no more threads.
    pub(crate) fn start(direction: Direction, points: &PointWatch) -> Result<Self> {
        let started = Self {
            direction,
            queue: Arc::default(),
            points: points.watched(),
            unfinished: watch::Sender::new(0),
        };
        for index in 0..THREADS {
            let queue = Arc::clone(&started.queue);
            thread::Builder::new()
                .name(format!("pega-{}-{index}", direction.name()))
                .spawn(move || {
                    while let Some(job) = queue.next() {
                        job()
                    }
                })
                .map_err(|error| Error::io("start a transfer thread", error))?;
        }
        Ok(started)
    }

    /// Runs `work` on one of the threads, also when the caller stops to wait. A panic is an error of this work alone.
    ///
    /// # Errors
    /// What `work` says.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (job, answered) = self.job(work);
        self.queue.push(Box::new(move || job(Ok(()))));
        self.answer(answered).await
    }

    /// As [`run`](Self::run), once the engine's stream has come to the point: meanwhile it takes no thread.
    ///
    /// # Errors
    /// `PeerEnded` when the session ends first, else what `work` says.
    pub(crate) async fn run_at<T: Send + 'static>(
        &self,
        registration: &Arc<Registration>,
        point: Option<u32>,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let Some(number) = point else {
            return self.run(work).await;
        };
        let (job, answered) = self.job(work);
        let point = Point {
            registration: Arc::clone(registration),
            number,
        };
        let (queue, points) = (Arc::clone(&self.queue), Arc::clone(&self.points));
        self.queue.push(Box::new(move || match point.end() {
            Some(end) => job(end),
            None => points.wait(point, move |end| queue.push(Box::new(move || job(end)))),
        }));
        self.answer(answered).await
    }

    /// Waits for what has begun: without a sleep for `patience`, then on one of the threads, which also does it when the caller stops
    /// to wait.
    ///
    /// # Errors
    /// What it says.
    pub(crate) async fn finish<B: Begun>(&self, begun: B, patience: Duration) -> Result<B::End> {
        let mut held = Held {
            begun: Some((begun, Unfinished::begin(&self.unfinished))),
            queue: Arc::clone(&self.queue),
        };
        let has_ended = pause::until(|| held.has_ended(), patience).await;
        match held.begun.take() {
            Some((begun, _unfinished)) if has_ended => begun.finish(),
            Some((begun, _unfinished)) => self.run(move || begun.finish()).await,
            None => Err(Error::new(ErrorKind::Io, "what was begun is gone")),
        }
    }

    /// `work` for one of the threads, which is told whether it may be done, and what answers it.
    fn job<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> (
        impl FnOnce(Result<()>) + Send + 'static,
        oneshot::Receiver<Result<T>>,
    ) {
        let (answer, answered) = oneshot::channel();
        let unfinished = Unfinished::begin(&self.unfinished);
        let direction = self.direction.name();
        let job = move |may: Result<()>| {
            let outcome = may.and_then(|()| {
                catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(direction, &*panic)))
            });
            // The caller may have gone; the work is done all the same.
            drop(answer.send(outcome));
            drop(unfinished);
        };
        (job, answered)
    }

    async fn answer<T>(&self, answered: oneshot::Receiver<Result<T>>) -> Result<T> {
        let direction = self.direction.name();
        answered
            .await
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::Io, format!("the {direction} was dropped"))))
    }

    /// Waits until no work is under way or waits for a thread.
    pub(crate) async fn idle(&self) {
        // This holds the sender, so the wait ends only with the work.
        drop(self.unfinished.subscribe().wait_for(|&count| count == 0).await);
    }
}

/// Work that goes on by itself once it has begun.
pub(crate) trait Begun: Send + 'static {
    /// What comes of it.
    type End: Send + 'static;

    /// Whether `finish` would return at once.
    fn has_ended(&self) -> bool;

    /// Waits for its end.
    ///
    /// # Errors
    /// What it says.
    fn finish(self) -> Result<Self::End>;
}

/// What has begun, while somebody waits for it; else a thread does.
struct Held<B: Begun> {
    begun: Option<(B, Unfinished)>,
    queue: Arc<Queue>,
}

impl<B: Begun> Held<B> {
    fn has_ended(&self) -> bool {
        self.begun.as_ref().is_none_or(|(begun, _)| begun.has_ended())
    }
}

impl<B: Begun> Drop for Held<B> {
    fn drop(&mut self) {
        if let Some((begun, unfinished)) = self.begun.take() {
            self.queue.push(Box::new(move || {
                drop(begun.finish());
                drop(unfinished);
            }));
        }
    }
}

impl Drop for TransferThreads {
    fn drop(&mut self) {
        self.queue.jobs.lock().is_closed = true;
        self.queue.more.notify_all();
    }
}

impl Queue {
    fn push(&self, job: Job) {
        self.jobs.lock().waiting.push_back(job);
        self.more.notify_one();
    }

    fn next(&self) -> Option<Job> {
        let mut jobs = self.jobs.lock();
        loop {
            if let Some(job) = jobs.waiting.pop_front() {
                return Some(job);
            }
            if jobs.is_closed {
                return None;
            }
            self.more.wait(&mut jobs);
        }
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queue")
            .field("waiting", &self.jobs.lock().waiting.len())
            .finish()
    }
}

/// One piece of work that is not done.
struct Unfinished(watch::Sender<usize>);

impl Unfinished {
    fn begin(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count.clone())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

fn panicked(direction: &str, panic: &(dyn Any + Send)) -> Error {
    let what = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("without a message");
    tracing::error!("a {direction} panicked: {what}");
    Error::new(
        ErrorKind::Io,
        format!("the {direction} panicked ({what}): this is a bug, please report it"),
    )
}
