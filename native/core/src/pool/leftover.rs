//! Pools that a killed daemon left behind.
//!
//! A pool is removed only when its slot table names this user, nobody holds its lock, and its owner has ended.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};

use super::header::{HEADER_BYTES, Header};
use super::names;
use crate::error::{Error, ErrorKind, Result};
use crate::process::PeerProcess;

/// How long the lock of an ended daemon's table is waited for: whoever else has it only looks, or removes.
const LOCK_WAIT: Duration = Duration::from_secs(2);
const LOCK_PAUSE: Duration = Duration::from_millis(2);

/// What a file with the name of a slot table is.
enum Found {
    Nothing,
    Stranger,
    Alive(Header),
    /// Its lock is held as long as the file is open.
    Dead(Header, File),
}

/// Removes the pools in `dir` of ended daemons of this user; `own` is the stem that this daemon is about to use.
///
/// # Errors
/// `Conflict` when a living daemon or a stranger has the files of `own`.
pub(super) fn remove_dead(dir: &Path, uid: u32, own: &str) -> Result<()> {
    // Whether the directory can be used is for `Place::choose` to say.
    let Ok(entries) = fs::read_dir(dir) else {
        return Ok(());
    };
    for name in entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()) {
        let Some(stem) = names::stem_of_slots(&name, uid) else {
            continue;
        };
        let slots = dir.join(&name);
        // Only what is in the way is waited for.
        let patience = if stem == own { LOCK_WAIT } else { Duration::ZERO };
        match examine(&slots, uid, patience) {
            Ok(Found::Dead(header, _lock)) => match remove(&slots, stem, uid, &header) {
                Err(error) if stem == own => return Err(error),
                Err(error) => tracing::warn!(%error, "cannot remove the pool of an ended daemon"),
                Ok(()) => {
                    tracing::info!(slots = %slots.display(), owner = %header.owner, "removed the pool of an ended daemon")
                }
            },
            Ok(Found::Alive(header)) if stem == own => {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!(
                        "{} uses {}: stop that daemon or give another --socket",
                        header.owner,
                        slots.display()
                    ),
                ));
            }
            Ok(Found::Stranger) if stem == own => {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!(
                        "{} is no slot table of this user: move it away or give another --socket",
                        slots.display()
                    ),
                ));
            }
            Err(error) if stem == own => {
                return Err(Error::io(format_args!("examine {}", slots.display()), error));
            }
            Ok(Found::Nothing | Found::Alive(_) | Found::Stranger) | Err(_) => {}
        }
    }
    Ok(())
}

fn examine(slots: &Path, uid: u32, patience: Duration) -> io::Result<Found> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = match OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits() as i32)
        .open(slots)
    {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        Err(_) => return Ok(Found::Stranger),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() || metadata.uid() != uid {
        return Ok(Found::Stranger);
    }
    let mut bytes = Vec::with_capacity(HEADER_BYTES as usize);
    (&file).take(HEADER_BYTES).read_to_end(&mut bytes)?;
    let Some(header) = Header::decode(&bytes).filter(|header| header.uid == uid) else {
        return Ok(Found::Stranger);
    };
    if is_alive(&header) || !lock(&file, patience) {
        return Ok(Found::Alive(header));
    }
    // Another daemon may have removed this file and linked its own before the lock was had.
    match fs::symlink_metadata(slots) {
        Ok(now) if (now.dev(), now.ino()) == (metadata.dev(), metadata.ino()) => {
            Ok(Found::Dead(header, file))
        }
        Ok(_) => Ok(Found::Alive(header)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
        Err(error) => Err(error),
    }
}

/// Locks the table of an ended daemon; another one that starts may be looking at it, for a moment.
fn lock(file: &File, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    while flock(file, FlockOperation::NonBlockingLockExclusive).is_err() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::sleep(LOCK_PAUSE);
    }
    true
}

/// Whether the owner lives, or may live.
fn is_alive(header: &Header) -> bool {
    match PeerProcess::open(header.owner.pid) {
        Ok(process) => process.identity() == header.owner,
        Err(error) => error.kind() != ErrorKind::PeerEnded,
    }
}

/// The pool goes first: a pool without slot table is never ours.
fn remove(slots: &Path, stem: &str, uid: u32, header: &Header) -> Result<()> {
    let pool = &header.pool_path;
    let is_ours = pool
        .file_name()
        .is_some_and(|name| *name == *names::pool_file(stem))
        && fs::symlink_metadata(pool).is_ok_and(|metadata| metadata.is_file() && metadata.uid() == uid);
    if is_ours {
        fs::remove_file(pool).map_err(|error| Error::io(format_args!("remove {}", pool.display()), error))?;
    }
    fs::remove_file(slots).map_err(|error| Error::io(format_args!("remove {}", slots.display()), error))
}
