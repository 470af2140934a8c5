//! Waits until engines' streams have come to the points that their transfers name.

use std::mem;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::pause;
use tokio::sync::oneshot;

use super::check_open;
use crate::session::Registration;

/// The pause between two looks at points that have not passed.
const PAUSE: Duration = Duration::from_micros(20);

/// One transfer that waits.
struct Wait {
    registration: Arc<Registration>,
    point: u32,
    done: oneshot::Sender<Result<()>>,
}

impl Wait {
    /// How the wait ended, if it has.
    fn end(&self) -> Option<Result<()>> {
        // The engine first: the point of one that was killed never passes.
        let passed =
            check_open(&self.registration).and_then(|()| self.registration.copies.has_passed(self.point));
        match passed {
            Ok(false) => None,
            ended => Some(ended.map(drop)),
        }
    }
}

/// A thread that asks for all points that somebody waits for: **no stream of the daemon waits for another process**, since
/// one that does never goes on when that process is killed.
#[derive(Debug)]
pub(crate) struct PointWatch(Arc<Watched>);

#[derive(Default)]
struct Watched {
    waits: Mutex<Waits>,
    more: Condvar,
}

#[derive(Default)]
struct Waits {
    new: Vec<Wait>,
    is_closed: bool,
}

impl PointWatch {
    /// Starts the thread, which ends when this is dropped.
    ///
    /// # Errors
    /// `Io` when the system has no more threads.
    pub(crate) fn start() -> Result<Self> {
        let watched = Arc::new(Watched::default());
        let watching = Arc::clone(&watched);
        thread::Builder::new()
            .name("pega-points".into())
            .spawn(move || watching.watch())
            .map_err(|error| Error::io("start the thread that looks at engines' streams", error))?;
        Ok(Self(watched))
    }

    /// Returns when the engine's stream has come to the point; at once without one.
    ///
    /// # Errors
    /// `PeerEnded` when the session ends first.
    pub(crate) async fn passed(&self, registration: &Arc<Registration>, point: Option<u32>) -> Result<()> {
        let Some(point) = point else { return Ok(()) };
        let (done, ended) = oneshot::channel();
        let wait = Wait {
            registration: Arc::clone(registration),
            point,
            done,
        };
        // Of an engine that has nothing to do, the point has passed before anybody asks.
        if let Some(end) = wait.end() {
            return end;
        }
        self.0.waits.lock().new.push(wait);
        self.0.more.notify_one();
        ended.await.unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Io,
                "nobody looks at engines' streams any more",
            ))
        })
    }
}

impl Drop for PointWatch {
    fn drop(&mut self) {
        self.0.waits.lock().is_closed = true;
        self.0.more.notify_one();
    }
}

impl Watched {
    fn watch(&self) {
        pause::be_exact();
        let mut waiting: Vec<Wait> = Vec::new();
        loop {
            {
                let mut waits = self.waits.lock();
                while waiting.is_empty() && waits.new.is_empty() && !waits.is_closed {
                    self.more.wait(&mut waits);
                }
                if waits.is_closed {
                    return;
                }
                waiting.append(&mut waits.new);
            }
            for wait in mem::take(&mut waiting) {
                match wait.end() {
                    Some(end) => drop(wait.done.send(end)),
                    // Whoever waited may have gone.
                    None if wait.done.is_closed() => {}
                    None => waiting.push(wait),
                }
            }
            if !waiting.is_empty() {
                thread::sleep(PAUSE);
            }
        }
    }
}

impl std::fmt::Debug for Watched {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watched")
            .field("new", &self.waits.lock().new.len())
            .finish_non_exhaustive()
    }
}
