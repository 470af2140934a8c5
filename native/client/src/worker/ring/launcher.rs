//! The thread that launches kernels and asks for the ends of scatters: neither a step of the engine nor the client's calls wait
//! for the driver.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use pegaflow_core::cuda::{Gather, Scatter, StreamPoint};
use pegaflow_core::error::Result as CoreResult;
use pegaflow_core::pause;
use tokio::sync::oneshot;

use crate::error::{ClientError, ClientErrorKind, Result};
use crate::session::of_core;

/// The pause between two looks at scatters that have not ended.
const PAUSE: Duration = Duration::from_micros(20);

/// What it does to pages: each a block and a slot.
enum Job {
    Gather(Move, oneshot::Sender<CoreResult<Option<StreamPoint>>>),
    Scatter(Move, oneshot::Sender<CoreResult<()>>),
}

struct Move {
    pages: Vec<(u32, u32)>,
    after: Arc<StreamPoint>,
}

/// A handle of the thread, which ends after this when the scatters under way have.
#[derive(Debug)]
pub(super) struct Launcher(Sender<Job>);

impl Launcher {
    /// Starts the thread; it sleeps while there is nothing to do.
    pub(super) fn start(gather: Gather) -> Result<Self> {
        let (jobs, taken) = mpsc::channel();
        thread::Builder::new()
            .name("pega-gather".into())
            .spawn(move || run(&gather, &taken))
            .map_err(|error| {
                ClientError::new(
                    ClientErrorKind::Config,
                    format!("start the thread that collects blocks: {error}"),
                )
            })?;
        Ok(Self(jobs))
    }

    /// Has blocks collected once the stream has come to `after`: the point behind it.
    pub(super) async fn gather(
        &self,
        pages: Vec<(u32, u32)>,
        after: Arc<StreamPoint>,
    ) -> Result<StreamPoint> {
        let (then, launched) = oneshot::channel();
        self.push(Job::Gather(Move { pages, after }, then))?;
        launched
            .await
            .map_err(|_| ended())?
            .map_err(of_core)?
            .ok_or_else(|| {
                ClientError::new(
                    ClientErrorKind::Config,
                    "too many points of this worker's stream are in use",
                )
            })
    }

    /// Has blocks spread once the stream has come to `after`; returns when they are in place.
    pub(super) async fn scatter(&self, pages: Vec<(u32, u32)>, after: Arc<StreamPoint>) -> Result<()> {
        let (then, done) = oneshot::channel();
        self.push(Job::Scatter(Move { pages, after }, then))?;
        done.await.map_err(|_| ended())?.map_err(of_core)
    }

    fn push(&self, job: Job) -> Result<()> {
        self.0.send(job).map_err(|_| ended())
    }
}

fn ended() -> ClientError {
    ClientError::new(
        ClientErrorKind::Config,
        "the thread that collects blocks has ended",
    )
}

fn run(gather: &Gather, jobs: &Receiver<Job>) {
    pause::be_exact();
    let mut under_way: Vec<(Scatter, oneshot::Sender<CoreResult<()>>)> = Vec::new();
    while let Some(job) = next(jobs, under_way.is_empty()) {
        match job {
            Some(Job::Gather(Move { pages, after }, then)) => {
                // Whoever asked may have gone.
                drop(then.send(gather.gather(&pages, &after)));
            }
            Some(Job::Scatter(Move { pages, after }, then)) => match gather.scatter(&pages, &after) {
                Ok(scatter) => under_way.push((scatter, then)),
                Err(error) => drop(then.send(Err(error))),
            },
            None => {}
        }
        for (scatter, then) in std::mem::take(&mut under_way) {
            match scatter.has_ended() {
                Ok(false) => under_way.push((scatter, then)),
                ended => drop(then.send(ended.map(drop))),
            }
        }
    }
}

/// The next job, or none after a pause; None when there will be no more.
fn next(jobs: &Receiver<Job>, is_idle: bool) -> Option<Option<Job>> {
    if is_idle {
        return jobs.recv().ok().map(Some);
    }
    match jobs.recv_timeout(PAUSE) {
        Ok(job) => Some(Some(job)),
        Err(RecvTimeoutError::Timeout) => Some(None),
        Err(RecvTimeoutError::Disconnected) => {
            thread::sleep(PAUSE);
            Some(None)
        }
    }
}
