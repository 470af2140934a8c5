//! Paths come, change and go while the others go on.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path as FilePath;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::block::{Evicted, PathFiles};
use super::config::{MIN_CAPACITY, SsdPathConfig};
use super::format::{Identity, SegmentHeader, UNIT};
use super::inbox::{Event, Reply};
use super::path::{FILE_OVERHEAD, IDENTITY, Path, segment_number};
use super::patience::Patience;
use super::{Ssd, late};
use crate::count::counted;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;

impl Ssd {
    /// Opens one more path while the others go on.
    ///
    /// # Errors
    /// As for [`Ssd::open`]; `Conflict` for a directory that the tier has, by this name or another.
    pub fn add_path(&self, path: SsdPathConfig) -> Result<()> {
        self.add_paths(vec![path])
    }

    /// Opens paths, all at once.
    pub(super) fn add_paths(&self, paths: Vec<SsdPathConfig>) -> Result<()> {
        raise_file_limit();
        let mut opening = Vec::new();
        for config in paths {
            check_capacity(&config.dir, config.capacity)?;
            let mut list = self.tier.paths.write();
            if list.iter().any(|path| path.dir == config.dir) {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!(
                        "{} is a path of the ssd tier already: resize it instead",
                        config.dir.display()
                    ),
                ));
            }
            let path = Path::new(config.dir, config.capacity, Arc::clone(&self.tier));
            list.push(Arc::clone(&path));
            opening.push(path);
        }
        let opened = std::thread::scope(|scope| {
            let starts: Vec<_> = opening.iter().map(|path| scope.spawn(|| path.start())).collect();
            let joined = starts.into_iter().map(|start| {
                let panicked = |_| Err(Error::new(ErrorKind::Io, "opening an ssd path ended in a panic"));
                start.join().unwrap_or_else(panicked)
            });
            joined.collect::<Vec<Result<()>>>()
        });
        for (path, opened) in opening.iter().zip(&opened) {
            if opened.is_err() {
                self.forget(path);
            }
        }
        opened.into_iter().collect()
    }

    /// Ends a path: writes what it has taken, and lets its blocks go. Reads that have not begun are dropped.
    ///
    /// # Errors
    /// `NotFound` for a directory that the tier has not. The path has gone with all others: `Io` when its disk answers nothing, the
    /// deadline passes before, or it is offline and its files stay, `Permission` when they cannot be deleted.
    pub fn remove_path<'a>(
        &self,
        dir: &FilePath,
        files: PathFiles,
        patience: impl Into<Patience<'a>>,
    ) -> Result<Evicted> {
        let path = self.path(dir)?;
        let ended = path
            .ask(|reply| Event::End(files, reply))
            .wait(&mut patience.into());
        if let Ok(Some(_)) = ended {
            path.join();
        }
        self.forget(&path);
        let ended = ended.map(Option::unwrap_or_default);
        match ended {
            Err(error) if files == PathFiles::Delete && path.is_stalled() => Err(Error::new(
                error.kind(),
                format!(
                    "{error}: it is no path of the ssd tier any more, and its files are deleted once the disk answers"
                ),
            )),
            ended => ended,
        }
    }

    /// Changes the capacity of a path; a smaller one evicts the oldest segments, and returns when their files are gone.
    ///
    /// # Errors
    /// `NotFound` for a directory that the tier has not, or no more, `Config` below [`MIN_CAPACITY`], `Permission` when
    /// files cannot be deleted, `Io` when its disk answers nothing or the deadline passes before.
    pub fn resize<'a>(&self, dir: &FilePath, capacity: u64, patience: impl Into<Patience<'a>>) -> Result<()> {
        let path = self.path(dir)?;
        check_capacity(dir, capacity)?;
        path.set_capacity(capacity);
        path.ask(Event::Resize).wait(&mut patience.into()).map(drop)
    }

    /// Evicts the oldest blocks in whole segments: at least `bytes`, or all, of one path, or of all by their shares.
    ///
    /// # Errors
    /// `NotFound` for a directory that the tier has not, or no more, `Io` when a path fails, its disk answers nothing, or the deadline
    /// passes before.
    pub fn evict<'a>(
        &self,
        dir: Option<&FilePath>,
        bytes: u64,
        patience: impl Into<Patience<'a>>,
    ) -> Result<Evicted> {
        let patience = &mut patience.into();
        if bytes == 0 {
            return Ok(Evicted::default());
        }
        let paths = match dir {
            Some(dir) => vec![self.path(dir)?],
            None => self.tier.paths.read().clone(),
        };
        let snapshot = self.snapshot();
        let held = |path: &Arc<Path>| {
            let its = snapshot.paths.iter().find(|snapshot| snapshot.dir == path.dir);
            u128::from(its.map_or(0, |snapshot| snapshot.bytes))
        };
        let all: u128 = paths.iter().map(held).sum();
        let mut answers = Vec::new();
        for path in &paths {
            let share = (u128::from(bytes) * held(path)).div_ceil(all.max(1));
            let share = u64::try_from(share).unwrap_or(u64::MAX);
            if share > 0 {
                answers.push(path.ask(|reply| Event::Evict(share, reply)));
            }
        }
        let mut evicted = Evicted::default();
        for answer in answers {
            let its = match answer.wait(patience) {
                // All that it had is gone with it.
                Err(error) if dir.is_none() && error.kind() == ErrorKind::NotFound => Evicted::default(),
                its => its?.unwrap_or_default(),
            };
            evicted.blocks += its.blocks;
            evicted.bytes += its.bytes;
        }
        Ok(evicted)
    }

    /// Refuses new writes, finishes and flushes those that were accepted, and ends all threads and locks.
    ///
    /// Reads that have not begun are dropped. Nothing is found afterwards.
    ///
    /// # Errors
    /// `Io` when a path failed or `deadline` passes before all is safe: the rest is lost, as with a kill.
    pub fn close(&self, deadline: Instant) -> Result<()> {
        let paths = std::mem::take(&mut *self.tier.paths.write());
        let is_usable = paths.iter().any(|path| path.is_usable());
        self.tier.queue.close();
        let patience = &mut Patience::from(deadline);
        let taken = if is_usable {
            self.wait_until_taken(patience).map(drop)
        } else {
            Ok(())
        };
        let answers: Vec<_> = paths
            .iter()
            .map(|path| path.ask(|reply| Event::End(PathFiles::Keep, reply)))
            .collect();
        let mut closed = taken;
        for (path, answer) in paths.iter().zip(answers) {
            let ended = answer.wait(patience);
            if ended.is_ok() {
                path.join();
            }
            closed = closed.and(ended.map(drop));
        }
        // Whoever waited for a read holds on to it until its checker has let go.
        self.tier.checkers.wait_until_idle(deadline);
        let message = "the ssd tier was closed before the block was written";
        self.tier
            .queue
            .fail_waiting(0, &Error::new(ErrorKind::Io, message));
        closed
    }

    pub(super) fn path(&self, dir: &FilePath) -> Result<Arc<Path>> {
        let paths = self.tier.paths.read();
        let path = paths.iter().find(|path| path.dir == dir).cloned();
        path.ok_or_else(|| {
            let all: Vec<_> = paths.iter().map(|path| path.dir.display().to_string()).collect();
            Error::new(
                ErrorKind::NotFound,
                format!(
                    "{} is no path of the ssd tier: its paths are {}",
                    dir.display(),
                    if all.is_empty() {
                        "none".to_owned()
                    } else {
                        all.join(", ")
                    }
                ),
            )
        })
    }

    fn forget(&self, path: &Arc<Path>) {
        self.tier.paths.write().retain(|other| !Arc::ptr_eq(other, path));
    }
}

impl Drop for Ssd {
    fn drop(&mut self) {
        // Whoever wants what was accepted to be safe has closed it before.
        if !self.tier.paths.read().is_empty()
            && let Err(error) = self.close(Instant::now() + Duration::from_secs(5))
        {
            tracing::warn!(%error, "the ssd tier ends as after a kill");
        }
    }
}

/// An answer that a path owes.
#[derive(Debug)]
pub(super) struct Answer {
    path: Arc<Path>,
    receiver: Receiver<Result<Evicted>>,
}

impl Path {
    /// Tells the writer of a wish.
    pub(super) fn ask(self: &Arc<Self>, event: impl FnOnce(Reply) -> Event) -> Answer {
        let (reply, receiver) = mpsc::channel();
        self.inbox.tell(event(reply));
        Answer {
            path: Arc::clone(self),
            receiver,
        }
    }
}

impl Answer {
    /// Waits for the answer, as long as the disk answers; None when somebody has enough of it before.
    pub(super) fn wait(self, patience: &mut Patience<'_>) -> Result<Option<Evicted>> {
        loop {
            let time = patience.next_look().saturating_duration_since(Instant::now());
            match self.receiver.recv_timeout(time) {
                Ok(answer) => return answer.map(Some),
                Err(RecvTimeoutError::Timeout) if self.path.is_stalled() => {
                    return Err(self.path.offline_error());
                }
                Err(RecvTimeoutError::Timeout) if patience.is_over() => return Ok(None),
                Err(RecvTimeoutError::Timeout) if patience.is_late() => {
                    return Err(late("an ssd path"));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let message = format!("{} has left the ssd tier meanwhile", self.path.dir.display());
                    return Err(Error::new(ErrorKind::NotFound, message));
                }
            }
        }
    }
}

/// The bytes that the segments of the path in a directory take: with that capacity it keeps them all. 0 where there is none.
///
/// # Errors
/// Why it cannot be listed.
pub fn held_bytes(dir: &FilePath) -> Result<u64> {
    let failed = |error| Error::io(format_args!("list {}", dir.display()), error);
    let entries = match fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries.map_err(failed)?,
    };
    let identity = fs::read(dir.join(IDENTITY)).ok();
    let path_id = identity
        .and_then(|bytes| Identity::decode(&bytes))
        .map(|identity| identity.path_id);
    let mut bytes = 0_u64;
    for entry in entries {
        let entry = entry.map_err(failed)?;
        let Some(number) = segment_number(&entry.file_name()) else {
            continue;
        };
        let file = entry.metadata().map_err(failed)?;
        if file.is_file() && !is_of_another(&entry.path(), number, path_id) {
            bytes = bytes.saturating_add(file.len() + FILE_OVERHEAD);
        }
    }
    Ok(bytes)
}

/// Whether a segment says that it is of another path than `path_id`, or of another name; one that says nothing may be any's.
fn is_of_another(file: &FilePath, number: u32, path_id: Option<[u8; 16]>) -> bool {
    let mut unit = vec![0; UNIT as usize];
    let read = File::open(file).and_then(|file| file.read_exact_at(&mut unit, 0));
    let header = read.ok().and_then(|()| SegmentHeader::decode(&unit));
    header.is_some_and(|header| header.number != number || path_id.is_some_and(|id| id != header.path_id))
}

/// Deletes what a path made that was new and could not be used: its files, and the directory unless something else is in it.
///
/// What cannot be deleted stays, and all of it where somebody uses the directory by now.
pub fn remove_made(dir: &FilePath) {
    let identity = File::open(dir.join(IDENTITY)).ok();
    if identity
        .as_ref()
        .is_some_and(|identity| flock(identity, FlockOperation::NonBlockingLockExclusive).is_err())
    {
        return;
    }
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name == IDENTITY || segment_number(&name).is_some() {
            drop(fs::remove_file(entry.path()));
        }
    }
    drop(fs::remove_dir(dir));
}

/// Refuses a capacity that no path can have.
///
/// # Errors
/// `Config` below [`MIN_CAPACITY`].
pub fn check_capacity(dir: &FilePath, capacity: u64) -> Result<()> {
    if capacity >= MIN_CAPACITY {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Config,
        format!(
            "{} for {} is too little: give an ssd path at least {MIN_CAPACITY}",
            counted(capacity, "byte"),
            dir.display()
        ),
    ))
}

/// A large path has a thousand files, which is as many as a process may open unless it asks for more.
fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    // A refusal shows when a file cannot be opened.
    let _ = setrlimit(Resource::Nofile, raised);
}
