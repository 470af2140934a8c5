//! Pools that a daemon left behind, by a kill or on purpose.
//!
//! A pool is touched only when its slot table names this user, its lock was had, and its owner has ended.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::files::allocated;
use super::header::{HEADER_BYTES, Header, NOBODY};
use super::names;
use super::place::SHARED_MEMORY;
use crate::error::{Error, ErrorKind, Result};
use crate::process::{PeerProcess, ProcessIdentity};

/// How long an owner that let the lock go is waited for, and others that only look at the table: a killed process
/// needs a while to give its memory back.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);

/// The files that an ended daemon left.
#[derive(Debug)]
pub(super) struct Leftover {
    pub(super) header: Header,
    /// Locked as long as it is open.
    pub(super) table: File,
    /// Where the table is.
    pub(super) path: PathBuf,
}

/// What a file with the name of a slot table is.
enum Found {
    Nothing,
    Stranger,
    Alive(Option<ProcessIdentity>),
    Dead(Leftover),
}

/// What an ended daemon of the same user and socket left in `dir`.
///
/// # Errors
/// `Conflict` when a living daemon or a stranger has the name.
pub(super) fn find(dir: &Path, uid: u32, stem: &str) -> Result<Option<Leftover>> {
    let path = dir.join(names::slots_file(stem));
    let shown = path.display();
    let refuse = |why: String| Err(Error::new(ErrorKind::Conflict, why));
    match examine(&path, uid, PATIENCE) {
        Ok(Found::Nothing) => Ok(None),
        Ok(Found::Dead(leftover)) => Ok(Some(leftover)),
        Ok(Found::Alive(owner)) => {
            let owner = owner.map_or_else(|| "another process".to_owned(), |owner| owner.to_string());
            refuse(format!(
                "{owner} uses {shown}: stop that daemon or give another --socket"
            ))
        }
        Ok(Found::Stranger) => refuse(format!(
            "{shown} is no slot table of this user, or a damaged one: free it with `pegaflow stop --purge`, move it and the pool beside it \
             away, or give another --socket"
        )),
        Err(error) => Err(Error::io(format_args!("examine {shown}"), error)),
    }
}

/// Removes the pools in `dir` that no daemon can come back for: of ended daemons of this user whose socket's directory
/// is gone. `own` is the stem that this daemon is about to use.
pub(super) fn remove_orphans(dir: &Path, uid: u32, own: &str) {
    // Whether the directory can be used is for `Place` to say.
    let Ok(entries) = fs::read_dir(dir) else { return };
    for name in entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
        if names::stem_of_slots(&name, uid).is_none_or(|stem| stem == own) {
            continue;
        }
        if let Ok(Found::Dead(leftover)) = examine(&dir.join(&name), uid, Duration::ZERO)
            && is_orphan(&leftover.header)
        {
            match leftover.remove() {
                Ok(()) => tracing::info!(
                    slots = %leftover.path.display(),
                    socket = %leftover.header.socket.display(),
                    "removed the pool of an ended daemon whose socket's directory is gone"
                ),
                Err(error) => tracing::warn!(%error, "cannot remove the pool of an ended daemon"),
            }
        }
    }
}

/// Removes the files in `dir` under this daemon's own names if their slot table is damaged, this user's, and nobody's who lives;
/// the bytes of memory that they took, None when that is not so.
pub(super) fn remove_damaged(dir: &Path, uid: u32, stem: &str) -> Result<Option<u64>> {
    let slots = dir.join(names::slots_file(stem));
    let Some(table) = open_own(&slots, uid) else {
        return Ok(None);
    };
    let is_damaged = read_header(&table).is_ok_and(|header| header.is_none());
    if !is_damaged || flock(&table, FlockOperation::NonBlockingLockExclusive).is_err() {
        return Ok(None);
    }
    let mut bytes = 0;
    for path in [dir.join(names::pool_file(stem)), slots] {
        if let Some(metadata) = open_own(&path, uid).and_then(|file| file.metadata().ok()) {
            fs::remove_file(&path)
                .map_err(|error| Error::io(format_args!("remove {}", path.display()), error))?;
            bytes += allocated(&metadata);
        }
    }
    Ok(Some(bytes))
}

/// Removes the pool in `dir` under this daemon's own name, which no slot table names, if it is this user's and nobody has it locked;
/// the bytes of memory that it took.
pub(super) fn remove_lone_pool(dir: &Path, uid: u32, stem: &str) -> Result<u64> {
    let path = dir.join(names::pool_file(stem));
    let Some(pool) = open_own(&path, uid) else {
        return Ok(0);
    };
    let shown = path.display();
    if flock(&pool, FlockOperation::NonBlockingLockExclusive).is_err() {
        let why = format!("another process uses {shown}, whose slot table is gone: stop that process");
        return Err(Error::new(ErrorKind::Conflict, why));
    }
    let bytes = pool.metadata().map_or(0, |metadata| allocated(&metadata));
    fs::remove_file(&path).map_err(|error| Error::io(format_args!("remove {shown}"), error))?;
    Ok(bytes)
}

/// A file of this user; None for anything else.
fn open_own(path: &Path, uid: u32) -> Option<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(path);
    let file = opened.ok()?;
    let metadata = file.metadata().ok()?;
    (metadata.is_file() && metadata.uid() == uid).then_some(file)
}

/// Where a daemon's files can be: in /dev/shm and in its pool directory.
pub(super) fn directories(pool_dir: Option<&Path>) -> BTreeSet<PathBuf> {
    let dirs = [Some(Path::new(SHARED_MEMORY)), pool_dir];
    // Under one name, or this process would be in its own way at the second look.
    dirs.into_iter()
        .flatten()
        .filter_map(|dir| fs::canonicalize(dir).ok())
        .collect()
}

impl Leftover {
    /// Removes what cannot be taken over, and says so.
    pub(super) fn replace(&self, why: &str) -> Result<()> {
        tracing::warn!(
            slots = %self.path.display(),
            "the pool of an ended daemon is removed, for it cannot be taken over: {why}"
        );
        self.remove()
    }

    /// Bytes of memory that the files take.
    pub(super) fn bytes(&self) -> u64 {
        let metadata = self.paths().map(fs::symlink_metadata);
        metadata.flatten().map(|metadata| allocated(&metadata)).sum()
    }

    /// Removes the files, the pool first: a pool without slot table is never ours.
    pub(super) fn remove(&self) -> Result<()> {
        for path in self.paths() {
            fs::remove_file(path)
                .map_err(|error| Error::io(format_args!("remove {}", path.display()), error))?;
        }
        Ok(())
    }

    /// The pool, if the one that the header names is this table's, and the table.
    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        let Header { pool_path, uid, .. } = &self.header;
        let is_ours = self.path.with_extension(names::POOL_SUFFIX).file_name() == pool_path.file_name()
            && fs::symlink_metadata(pool_path)
                .is_ok_and(|metadata| metadata.is_file() && metadata.uid() == *uid);
        [Some(pool_path).filter(|_| is_ours), Some(&self.path)]
            .into_iter()
            .flatten()
    }
}

fn is_orphan(header: &Header) -> bool {
    let gone =
        |dir: &Path| fs::symlink_metadata(dir).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
    header.socket.parent().is_none_or(gone)
}

fn examine(path: &Path, uid: u32, patience: Duration) -> io::Result<Found> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(flags.bits() as i32)
        .open(path);
    let table = match opened {
        Ok(table) => table,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(_) => return Ok(Found::Stranger),
    };
    let metadata = table.metadata()?;
    if !metadata.is_file() || metadata.uid() != uid {
        return Ok(Found::Stranger);
    }
    let deadline = Instant::now() + patience;
    loop {
        let is_locked = flock(&table, FlockOperation::NonBlockingLockExclusive).is_ok();
        let header = read_header(&table)?.filter(|header| header.uid == uid);
        let is_alive = header.as_ref().is_some_and(|header| is_alive(header.owner));
        match header {
            None if is_locked => return Ok(Found::Stranger),
            Some(header) if is_locked && !is_alive => {
                // Another daemon may have removed this file and linked its own before the lock was had.
                return Ok(match fs::symlink_metadata(path) {
                    Ok(now) if (now.dev(), now.ino()) == (metadata.dev(), metadata.ino()) => {
                        let path = path.to_owned();
                        Found::Dead(Leftover { header, table, path })
                    }
                    Ok(_) => Found::Alive(None),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => Found::Nothing,
                    Err(error) => return Err(error),
                });
            }
            // Either an owner at work, or, with the lock free, one that is about to end.
            header if is_alive && !is_locked || Instant::now() >= deadline => {
                return Ok(Found::Alive(header.map(|header| header.owner)));
            }
            _ => thread::sleep(PAUSE),
        }
    }
}

/// None for what is no header; while its owner writes it, it may be none either.
fn read_header(table: &File) -> io::Result<Option<Header>> {
    let mut bytes = [0; HEADER_BYTES as usize];
    match table.read_exact_at(&mut bytes, 0) {
        Ok(()) => Ok(Header::decode(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Whether there is an owner that lives, or may live.
fn is_alive(owner: ProcessIdentity) -> bool {
    if owner == NOBODY {
        return false;
    }
    match PeerProcess::open(owner.pid) {
        Ok(process) => process.identity() == owner,
        Err(error) => error.kind() != ErrorKind::PeerEnded,
    }
}
