//! Waits until engines' streams have come to the points that their transfers name.

use std::mem;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use pegaflow_core::error::{Error, Result};
use pegaflow_core::pause;

use super::check_open;
use crate::session::Registration;

/// The pause between two looks at points that have not passed.
const PAUSE: Duration = Duration::from_micros(20);

/// A point that a transfer waits for.
#[derive(Clone)]
pub(super) struct Point {
    pub(super) registration: Arc<Registration>,
    pub(super) number: u32,
}

impl Point {
    /// How waiting for it ended, if it has: `PeerEnded` when the session ended first.
    pub(super) fn end(&self) -> Option<Result<()>> {
        // The engine first: the point of one that was killed never passes.
        let passed =
            check_open(&self.registration).and_then(|()| self.registration.copies.has_passed(self.number));
        match passed {
            Ok(false) => None,
            ended => Some(ended.map(drop)),
        }
    }
}

/// What goes on when a wait has ended.
type Then = Box<dyn FnOnce(Result<()>) + Send>;

/// A thread that asks for all points that somebody waits for: **no stream of the daemon waits for another process**, since
/// one that does never goes on when that process is killed.
#[derive(Debug)]
pub(crate) struct PointWatch(Arc<Watched>);

/// The points that are waited for.
#[derive(Default)]
pub(super) struct Watched {
    waits: Mutex<Waits>,
    more: Condvar,
}

#[derive(Default)]
struct Waits {
    new: Vec<(Point, Then)>,
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

    /// Where transfers leave what they wait for.
    pub(super) fn watched(&self) -> Arc<Watched> {
        Arc::clone(&self.0)
    }
}

impl Drop for PointWatch {
    fn drop(&mut self) {
        self.0.waits.lock().is_closed = true;
        self.0.more.notify_one();
    }
}

impl Watched {
    /// Has `then` called, on the thread that asks, when waiting for the point has ended; dropped when nobody asks any more.
    pub(super) fn wait(&self, point: Point, then: impl FnOnce(Result<()>) + Send + 'static) {
        self.waits.lock().new.push((point, Box::new(then)));
        self.more.notify_one();
    }

    fn watch(&self) {
        pause::be_exact();
        let mut waiting: Vec<(Point, Then)> = Vec::new();
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
            for (point, then) in mem::take(&mut waiting) {
                match point.end() {
                    Some(end) => then(end),
                    None => waiting.push((point, then)),
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
