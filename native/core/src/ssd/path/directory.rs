//! The files of a path: made whole, locked while in use.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, FlockOperation, OFlags, flock, linkat};
use sha2::{Digest, Sha256};

use super::super::format::{FORMAT_VERSION, Identity, SegmentHeader, UNIT};
use super::super::io::{Action, Buffer, IoEngine, Watched, wait};
use super::segment_files::segment_number;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;

pub(in crate::ssd) const IDENTITY: &str = "pegaflow.ssd";
pub(super) const FILE_MODE: u32 = 0o600;
const DIR_MODE: u32 = 0o700;
/// How long a daemon that was killed may take to end, and after that the last of its transfers: their files stay locked
/// until then.
const END_WAIT: Duration = Duration::from_secs(2);
pub(super) const TRANSFER_WAIT: Duration = Duration::from_secs(10);
/// Files that name a machine, the best first; containers often have none of them.
const MACHINE_FILES: [&str; 3] = [
    "/etc/machine-id",
    "/var/lib/dbus/machine-id",
    "/sys/class/dmi/id/product_uuid",
];

/// A path's directory, which no other daemon uses meanwhile.
#[derive(Debug)]
pub(super) struct Directory {
    pub(super) dir: PathBuf,
    pub(super) identity: Identity,
    pub(super) engine: Arc<dyn IoEngine>,
    /// Whether bytes bypass the kernel's cache.
    pub(super) is_direct: bool,
    /// The directory that was opened, whatever has its name by now.
    opened: File,
    /// The file that names the path; holds the lock.
    lock: File,
}

impl Directory {
    /// Opens a directory that is there, and makes the file that names the path if it `may_be_new`.
    ///
    /// # Errors
    /// `Config` for what cannot be a path, `Conflict` for another's, `NotFound` for one that is gone and may not be new.
    pub(super) fn open(dir: &Path, may_be_new: bool, engine: Arc<Watched>) -> Result<Self> {
        let file = dir.join(IDENTITY);
        let lock = match open(&file, OFlags::empty()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && may_be_new => {
                refuse_segments(dir)?;
                create_identity(dir)?;
                open(&file, OFlags::empty())
            }
            opened => opened,
        };
        let lock = lock.map_err(|error| Error::io(format_args!("open {}", file.display()), error))?;
        lock_file(&lock, &file, END_WAIT, &|| engine.count_answer())?;
        let identity = read_identity(&lock, &file)?;
        let is_direct = is_direct(&*engine, &file, may_be_new)?;
        let opened =
            File::open(dir).map_err(|error| Error::io(format_args!("open {}", dir.display()), error))?;
        Ok(Self {
            dir: dir.to_owned(),
            identity,
            engine,
            is_direct,
            opened,
            lock,
        })
    }

    /// Looks whether the directory and the file that names the path are still those that are in use.
    ///
    /// # Errors
    /// `NotFound` when they are not: what is written to the files from now on is lost.
    pub(super) fn check(&self) -> Result<()> {
        let identity = self.dir.join(IDENTITY);
        for (path, file) in [(&self.dir, &self.opened), (&identity, &self.lock)] {
            let place = |found: fs::Metadata| (found.dev(), found.ino());
            let is_same = match (fs::metadata(path), file.metadata()) {
                (Ok(now), Ok(opened)) => place(now) == place(opened),
                _ => false,
            };
            if !is_same {
                return Err(gone(path));
            }
        }
        Ok(())
    }

    /// Deletes the file that names the path, and the directory if nothing else is in it.
    pub(super) fn delete(&self) -> Result<()> {
        let path = self.dir.join(IDENTITY);
        fs::remove_file(&path)
            .map_err(|error| Error::io(format_args!("delete {}", path.display()), error))?;
        // A mount point, or a directory with other files, stays.
        drop(fs::remove_dir(&self.dir));
        Ok(())
    }

    pub(super) fn flags(&self) -> OFlags {
        if self.is_direct {
            OFlags::DIRECT
        } else {
            OFlags::empty()
        }
    }
}

pub(super) fn open(path: &Path, flags: OFlags) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags((flags | OFlags::NOFOLLOW).bits() as i32)
        .open(path)
}

/// Makes the directory of a path, and none above it: a disk that is not mounted must not fill the one below.
pub(super) fn make(dir: &Path) -> Result<()> {
    match DirBuilder::new().mode(DIR_MODE).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory
            ) =>
        {
            Err(Error::new(
                ErrorKind::Config,
                format!("{} is no directory: give the ssd tier one", dir.display()),
            ))
        }
        made => made.map_err(|error| Error::io(format_args!("make {}", dir.display()), error)),
    }
}

/// Refuses a path that was in use and is not there any more.
pub(super) fn refuse_gone(dir: &Path) -> Result<()> {
    for path in [dir, &dir.join(IDENTITY)] {
        let is_gone = |error: io::Error| error.kind() == io::ErrorKind::NotFound;
        if fs::symlink_metadata(path).is_err_and(is_gone) {
            return Err(gone(path));
        }
    }
    Ok(())
}

/// One sentence, whoever finds it first: it is the reason that stays for as long as the path is offline.
fn gone(path: &Path) -> Error {
    let message = format!(
        "{} was moved, replaced or deleted while in use: put it back, or remove the path from the tier and add it again",
        path.display()
    );
    Error::new(ErrorKind::NotFound, message)
}

/// Refuses a directory that has segments, which only a path of its name can have.
fn refuse_segments(dir: &Path) -> Result<()> {
    let failed = |error| Error::io(format_args!("list {}", dir.display()), error);
    for entry in fs::read_dir(dir).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let is_named_so = segment_number(&entry.file_name()).is_some();
        if !is_named_so || !entry.file_type().map_err(failed)?.is_file() {
            continue;
        }
        let mut bytes = vec![0; UNIT as usize];
        let read = File::open(entry.path()).and_then(|file| file.read_exact_at(&mut bytes, 0));
        if read.is_ok() && SegmentHeader::decode(&bytes).is_some() {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "{} has segments of the ssd tier but not the file {IDENTITY} that names them: put it back, or move the directory away to begin anew",
                    dir.display()
                ),
            ));
        }
    }
    Ok(())
}

/// Makes the file that names a new path: with all that is in it, or not at all.
fn create_identity(dir: &Path) -> Result<()> {
    let failed = |error| Error::io(format_args!("make {}", dir.join(IDENTITY).display()), error);
    let mut path_id = [0; 16];
    File::open("/dev/urandom")
        .and_then(|file| file.read_exact_at(&mut path_id, 0))
        .map_err(|error| Error::io("read random bytes", error))?;
    // Without a name at first, as far as the file system has such files.
    let name = dir.join(format!("{IDENTITY}.{}", std::process::id()));
    let unnamed = create(dir, OFlags::TMPFILE);
    let (mut file, is_named) = match unnamed {
        Err(error) if has_no_unnamed_files(&error) => (create(&name, OFlags::CREATE).map_err(failed)?, true),
        made => (made.map_err(failed)?, false),
    };
    let identity = Identity::new(path_id, machine());
    file.write_all(&identity.encode())
        .and_then(|()| file.sync_all())
        .map_err(failed)?;
    let made = if is_named {
        name.clone()
    } else {
        unnamed_path(&file)
    };
    let linked = linkat(CWD, made, CWD, dir.join(IDENTITY), AtFlags::SYMLINK_FOLLOW);
    if is_named {
        fs::remove_file(name).map_err(failed)?;
    }
    match linked {
        // Another daemon was first: the lock decides between the two.
        Ok(()) | Err(rustix::io::Errno::EXIST) => sync_dir(dir).map_err(failed),
        Err(errno) => Err(failed(errno.into())),
    }
}

pub(super) fn create(path: &Path, flags: OFlags) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .mode(FILE_MODE)
        .custom_flags(flags.bits() as i32)
        .open(path)
}

pub(super) fn has_no_unnamed_files(error: &io::Error) -> bool {
    let error = error.raw_os_error();
    error == Some(libc::EOPNOTSUPP) || error == Some(libc::EISDIR)
}

/// What a file without a name can be linked by.
pub(super) fn unnamed_path(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Locks a file, which a daemon that was killed may hold until its last transfer has ended; `look` is called at each try.
pub(super) fn lock_file(file: &File, path: &Path, wait: Duration, look: &dyn Fn()) -> Result<()> {
    let end = Instant::now() + wait;
    loop {
        look();
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::WOULDBLOCK) if Instant::now() < end => {
                thread::sleep(Duration::from_millis(10));
            }
            Err(rustix::io::Errno::WOULDBLOCK) => {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!(
                        "{} is in use by another daemon: give each daemon directories of its own",
                        path.display()
                    ),
                ));
            }
            Err(errno) => {
                return Err(Error::io(format_args!("lock {}", path.display()), errno.into()));
            }
        }
    }
}

fn read_identity(file: &File, path: &Path) -> Result<Identity> {
    let mut bytes = vec![0; UNIT as usize];
    let read = file.read_exact_at(&mut bytes, 0);
    let refuse = |why: String| {
        Err(Error::new(
            ErrorKind::Conflict,
            format!("{} {why}", path.display()),
        ))
    };
    let identity = match read {
        Ok(()) => Identity::decode(&bytes),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
        Err(error) => return Err(Error::io(format_args!("read {}", path.display()), error)),
    };
    let Some(identity) = identity else {
        return refuse("does not name a path of the ssd tier: move the directory away to begin anew".into());
    };
    if identity.format_version != FORMAT_VERSION {
        return refuse(format!(
            "has format version {}, not {FORMAT_VERSION}: use the release that made it, or move the directory away to begin anew",
            identity.format_version
        ));
    }
    let (this, nothing) = (machine(), [0; 32]);
    if identity.machine != this && identity.machine != nothing && this != nothing {
        return refuse(
            "was made on another machine, which may still use it: move the directory away to begin anew"
                .into(),
        );
    }
    Ok(identity)
}

/// SHA-256 of what names this machine through all its boots; zeros where nothing does.
pub(super) fn machine() -> [u8; 32] {
    let names = MACHINE_FILES
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    let mut names = names.map(|name| name.trim().to_owned());
    match names.find(|name| !name.is_empty() && name != "uninitialized") {
        Some(name) => Sha256::digest(format!("pegaflow ssd {name}")).into(),
        None => [0; 32],
    }
}

/// Whether files of this directory can be read past the kernel's cache, which is tried; what follows is said when it `is_first`.
fn is_direct(engine: &dyn IoEngine, path: &Path, is_first: bool) -> Result<bool> {
    let failed = |error| Error::io(format_args!("read {}", path.display()), error);
    let read = open(path, OFlags::DIRECT).and_then(|file| {
        let mut buffer = Buffer::new(UNIT as usize);
        wait(engine, Action::Read, &Arc::new(file), 0, vec![buffer.page()])
    });
    match read {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            if is_first {
                tracing::warn!(
                    path = %path.display(),
                    "this file system has no O_DIRECT, so the ssd tier goes through the kernel's cache: another file system is faster"
                );
            }
            Ok(false)
        }
        Err(error) => Err(failed(error)),
    }
}

pub(super) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
