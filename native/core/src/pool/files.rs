//! The two files of a pool: made whole, locked while in use, removed at the end.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FlockOperation, MemfdFlags, OFlags, flock, linkat, memfd_create};

use super::header::Header;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;

const MODE: u32 = 0o600;

/// The open files. Dropping it removes them by name; what is mapped stays until it is unmapped.
#[derive(Debug)]
pub(super) struct PoolFiles {
    pub(super) pool: Arc<File>,
    pub(super) slots: Arc<File>,
    paths: Vec<(PathBuf, Arc<File>)>,
}

impl PoolFiles {
    /// Makes both files by name: the slot table at `slots`, the pool where the header says.
    ///
    /// # Errors
    /// `Conflict` when one of the names is taken.
    pub(super) fn create(header: &Header, slots: &Path) -> Result<Self> {
        let dir = slots.parent().unwrap_or(Path::new("/"));
        let table = OpenOptions::new()
            .read(true)
            .write(true)
            .mode(MODE)
            .custom_flags(OFlags::TMPFILE.bits() as i32)
            .open(dir)
            .map_err(|error| Error::io(format_args!("make a slot table in {}", dir.display()), error))?;
        write_table(&table, header)?;
        flock(&table, FlockOperation::NonBlockingLockExclusive)
            .map_err(|errno| Error::io("lock the slot table", errno.into()))?;
        // Linked only now: whoever finds the file finds a whole header under a lock.
        let unnamed = format!("/proc/self/fd/{}", table.as_raw_fd());
        linkat(CWD, unnamed, CWD, slots, AtFlags::SYMLINK_FOLLOW)
            .map_err(|errno| taken(slots, errno.into()))?;
        let table = Arc::new(table);
        let mut files = Self {
            pool: Arc::clone(&table),
            slots: Arc::clone(&table),
            paths: vec![(slots.to_owned(), table)],
        };
        let path = &header.pool_path;
        let pool = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(MODE)
            .open(path);
        files.pool = Arc::new(pool.map_err(|error| taken(path, error))?);
        files.paths.insert(0, (path.clone(), Arc::clone(&files.pool)));
        Ok(files)
    }

    /// Makes both files without names.
    pub(super) fn create_anonymous(header: &Header) -> Result<Self> {
        let make = |name| {
            memfd_create(name, MemfdFlags::CLOEXEC)
                .map(|fd| Arc::new(File::from(fd)))
                .map_err(|errno| Error::io("make anonymous memory", errno.into()))
        };
        let (pool, slots) = (make("pegaflow-pool")?, make("pegaflow-slots")?);
        write_table(&slots, header)?;
        Ok(Self {
            pool,
            slots,
            paths: Vec::new(),
        })
    }

    /// Removes the files, unless others have their names by now.
    pub(super) fn remove(&self) -> Result<()> {
        for (path, file) in &self.paths {
            let is_ours = match (fs::symlink_metadata(path), file.metadata()) {
                (Ok(named), Ok(open)) => (named.dev(), named.ino()) == (open.dev(), open.ino()),
                _ => false,
            };
            if is_ours {
                fs::remove_file(path)
                    .map_err(|error| Error::io(format_args!("remove {}", path.display()), error))?;
            }
        }
        Ok(())
    }
}

impl Drop for PoolFiles {
    fn drop(&mut self) {
        if let Err(error) = self.remove() {
            tracing::warn!(%error, "the pool's files stay behind");
        }
    }
}

/// The header, and after it a hole as long as the table.
fn write_table(mut table: &File, header: &Header) -> Result<()> {
    let bytes = header.encode()?;
    table
        .write_all(&bytes)
        .and_then(|()| table.set_len(header.table_bytes()))
        .map_err(|error| Error::io("write the slot table's header", error))
}

fn taken(path: &Path, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::AlreadyExists {
        let why =
            "exists and is no pool of an ended daemon of this user: move it away or give another --socket";
        return Error::new(ErrorKind::Conflict, format!("{} {why}", path.display()));
    }
    Error::io(format_args!("make {}", path.display()), error)
}
