//! A path between its open and its end: online, or offline and tried again.

use std::collections::VecDeque;
use std::sync::mpsc::{self, RecvTimeoutError, SendError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use super::super::block::{Evicted, PathFiles};
use super::super::budget::Written;
use super::super::inbox::{Event, Removal, Reply};
use super::super::io::IoEngine;
use super::super::patience::LOOK_INTERVAL;
use super::super::snapshot::PathState;
use super::Path;
use super::directory::IDENTITY;
use super::recovery::recover;
use super::ring::Ring;
use super::writer::{Ended, Writer};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Arc, Ordering};

/// How long a path that failed is left alone, twice as long after each try that fails too.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A path that fails sooner than this has not come back.
const LEAST_ONLINE: Duration = Duration::from_secs(10);

impl Path {
    /// Starts the path's thread, which opens the path; returns when it is known whether it can be.
    ///
    /// # Errors
    /// Why this can never be a path of this tier; one that fails otherwise is offline for now.
    pub(in crate::ssd) fn start(self: &Arc<Self>) -> Result<()> {
        // Without room for an answer: what nobody takes any more is not told.
        let (opened, answer) = mpsc::sync_channel(0);
        let path = Arc::clone(self);
        let thread = thread::Builder::new()
            .name("ssd-write".into())
            .spawn(move || Life::new(path).run(&opened));
        *self.thread.lock() =
            Some(thread.map_err(|error| Error::io("start a thread of the ssd tier", error))?);
        loop {
            match answer.recv_timeout(LOOK_INTERVAL) {
                Ok(opened) => return opened,
                // It is offline until its disk answers.
                Err(RecvTimeoutError::Timeout) if self.is_stalled() => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let message = "the thread of an ssd path ended in a panic";
                    return Err(Error::new(ErrorKind::Io, message));
                }
            }
        }
    }

    /// Nothing of the path is used until it was opened anew.
    pub(super) fn go_offline(&self, reason: &str) {
        self.is_online.store(false, Ordering::Release);
        let state = PathState::Offline {
            reason: reason.to_owned(),
        };
        let before = std::mem::replace(&mut self.status.lock().state, state);
        if before.name() != "offline" {
            tracing::error!(dir = %self.dir.display(), reason, "an ssd path is offline, and is tried again");
        }
        self.reads.set_engine(None);
        self.tier.wake_paths();
        // What waits keeps its pages: it is not to wait for a disk that may never come back.
        self.tier.fail_unfit(&self.offline_error());
    }

    /// What the writer has said of the path holds from now on: whoever sees it online can use it.
    fn go_online(&self, engine: Arc<dyn IoEngine>, is_direct: bool) {
        let mut status = self.status.lock();
        status.engine = engine.kind();
        status.is_direct = is_direct;
        drop(status);
        self.reads.set_engine(Some(engine));
        self.is_online.store(true, Ordering::Release);
    }
}

/// What the thread remembers while the path is offline.
#[derive(Debug)]
struct Life {
    path: Arc<Path>,
    /// What the journal has to be told.
    removals: VecDeque<Removal>,
    /// What was written today; None before the path was online for the first time.
    written: Option<Written>,
    pause: Duration,
}

impl Life {
    fn new(path: Arc<Path>) -> Self {
        Self {
            path,
            removals: VecDeque::new(),
            written: None,
            pause: FIRST_PAUSE,
        }
    }

    fn run(mut self, opened: &SyncSender<Result<()>>) {
        let mut is_first = true;
        loop {
            let error = match Arc::clone(&self.path.answers).work(|| self.open()) {
                Ok(writer) => {
                    drop(opened.send(Ok(())));
                    let start = Instant::now();
                    match writer.run() {
                        Ended::Told(files, reply, ring) => {
                            let ended = self.path.answers.work(|| self.end(files, Some(ring)));
                            drop(reply.send(ended));
                            return;
                        }
                        Ended::Failed(error, removals, written) => {
                            self.removals = removals;
                            self.written = Some(written);
                            if start.elapsed() > LEAST_ONLINE {
                                self.pause = FIRST_PAUSE;
                            }
                            error
                        }
                    }
                }
                Err(error) if is_first && is_final(&error) => {
                    let Err(SendError(Err(error))) = opened.send(Err(error)) else {
                        return;
                    };
                    // Nobody has waited for it since its disk answered nothing for long.
                    error
                }
                Err(error) => error,
            };
            self.path.go_offline(error.message());
            drop(opened.send(Ok(())));
            is_first = false;
            if let Some((files, reply)) = self.wait_offline() {
                let ended = self.end(files, None);
                drop(reply.send(ended));
                return;
            }
        }
    }

    fn open(&mut self) -> Result<Writer> {
        let start = Instant::now();
        let recovered = recover(&self.path, self.written.is_none(), &self.removals)?;
        let written = match self.written {
            Some(written) => written,
            None => {
                self.path.tier.budget.recover(recovered.written);
                recovered.written
            }
        };
        self.path.status.lock().recovery = super::Recovery {
            duration: start.elapsed(),
            ..recovered.found
        };
        let (directory, removals) = (&recovered.ring.directory, std::mem::take(&mut self.removals));
        let (engine, is_direct) = (Arc::clone(&directory.engine), directory.is_direct);
        let mut writer = Writer::new(Arc::clone(&self.path), recovered.ring, removals, written);
        if let Err(error) = writer.grow_ahead() {
            self.removals = writer.removals;
            return Err(error);
        }
        writer.report();
        self.path.go_online(engine, is_direct);
        Ok(writer)
    }

    /// Waits until the path is to be tried again; who wants it to end, if somebody does.
    fn wait_offline(&mut self) -> Option<(PathFiles, Reply)> {
        let deadline = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        while Instant::now() < deadline {
            for event in self.path.inbox.take(Some(deadline)) {
                match event {
                    Event::End(files, reply) => return Some((files, reply)),
                    Event::Removed(removal) => self.removals.push_back(removal),
                    Event::Resize(reply) => drop(reply.send(Ok(Evicted::default()))),
                    Event::Flush(reply) | Event::Evict(_, reply) => {
                        drop(reply.send(Err(self.path.offline_error())));
                    }
                    // Of transfers before the failure, which was told already.
                    Event::DataWritten(..)
                    | Event::JournalWritten(_)
                    | Event::Synced(_)
                    | Event::KeptRead(..)
                    | Event::Failed(_) => {}
                }
            }
        }
        None
    }

    /// Lets everything of the path go.
    fn end(&self, files: PathFiles, ring: Option<Box<Ring>>) -> Result<Evicted> {
        let path = &self.path;
        let offline = path.offline_error();
        path.go_offline_for_good();
        let evicted = path.forget_segments();
        let deleted = match (files, &ring) {
            (PathFiles::Keep, _) => Ok(()),
            (PathFiles::Delete, Some(ring)) => ring.delete_all(),
            (PathFiles::Delete, None) => {
                Err(Error::new(offline.kind(), format!("its files stay ({offline})")))
            }
        };
        if let Some(mut ring) = ring {
            ring.draining.clear();
        }
        let dir = path.dir.display();
        deleted.map(|()| evicted).map_err(|error| {
            let message = format!(
                "{dir} is no path of the ssd tier any more, but {error}: delete {dir}/segment-*.ssd and {dir}/{IDENTITY} yourself, or add the path again"
            );
            Error::new(error.kind(), message)
        })
    }
}

impl Drop for Life {
    /// However it ends: nobody is to wait for an answer of a path that has no thread.
    fn drop(&mut self) {
        self.path.inbox.close();
    }
}

impl Path {
    fn go_offline_for_good(&self) {
        self.is_online.store(false, Ordering::Release);
        self.status.lock().state = PathState::Offline {
            reason: "it was removed".to_owned(),
        };
        self.reads.set_engine(None);
        // What was left to it, and only it has room for, would wait for ever.
        self.tier.wake_paths();
        self.tier.fail_unfit(&self.offline_error());
    }

    /// Takes everything of the path out of the index.
    pub(super) fn forget_segments(&self) -> Evicted {
        let mut index = self.tier.index.lock();
        let ids = index
            .segments
            .ids(|segment| std::ptr::eq(&*segment.segment.path, self));
        let mut evicted = Evicted::default();
        for id in ids {
            let of_segment = index.empty_segment(id);
            evicted.blocks += of_segment.blocks;
            evicted.bytes += of_segment.bytes;
        }
        evicted
    }
}

/// Whether a path that cannot be opened so never can be, and whoever gave it has to be told.
fn is_final(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Config | ErrorKind::Conflict | ErrorKind::Permission
    )
}
