//! The two files of a pool: made whole or taken over, locked while in use, kept or removed at the end.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, FallocateFlags, FlockOperation, MemfdFlags, OFlags, fallocate, flock, ftruncate, linkat,
    memfd_create,
};

use super::geometry::Geometry;
use super::header::{Header, NOBODY};
use super::leftover::Leftover;
use super::site::Site;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Arc, AtomicBool, Mutex, Ordering};

const MODE: u32 = 0o600;

/// The open files. Dropping it removes them by name unless they are kept; what is mapped stays until it is unmapped.
#[derive(Debug)]
pub(super) struct PoolFiles {
    pub(super) pool: Arc<File>,
    pub(super) slots: Arc<File>,
    header: Mutex<Header>,
    paths: Vec<(PathBuf, Arc<File>)>,
    is_kept: AtomicBool,
}

/// An ended daemon's files, taken over.
#[derive(Debug)]
pub(super) struct Adopted {
    pub(super) files: PoolFiles,
    /// Bytes of the pool that have memory.
    pub(super) ready_bytes: u64,
    /// Bytes that the pool should have: more, or less.
    pub(super) wanted_bytes: u64,
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
            header: Mutex::new(header.clone()),
            paths: vec![(slots.to_owned(), table)],
            is_kept: AtomicBool::new(false),
        };
        let path = &header.pool_path;
        let pool = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(MODE)
            .open(path);
        files.pool = Arc::new(pool.map_err(|error| taken(path, error))?);
        flock(&*files.pool, FlockOperation::NonBlockingLockExclusive)
            .map_err(|errno| Error::io("lock the pool", errno.into()))?;
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
            header: Mutex::new(header.clone()),
            paths: Vec::new(),
            is_kept: AtomicBool::new(false),
        })
    }

    /// Makes an ended daemon's files those of `site`'s owner, with records for its size.
    ///
    /// # Errors
    /// Why they cannot be used, as the end of a sentence: nothing has changed.
    pub(super) fn adopt(leftover: &Leftover, site: &Site) -> std::result::Result<Adopted, String> {
        let (before, wanted) = (&leftover.header, &site.header);
        if let Some(difference) = difference(before, wanted) {
            return Err(difference);
        }
        let said = |error: io::Error| error.to_string();
        // The lock is that of the open file, which both handles are of.
        let table = leftover.table.try_clone().map_err(said)?;
        let table_bytes = table.metadata().map_err(said)?.len();
        if table_bytes < before.table_bytes() {
            return Err("its slot table is shorter than its header says".to_owned());
        }
        let path = &before.pool_path;
        let pool = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32)
            .open(path)
            .map_err(said)?;
        flock(&pool, FlockOperation::NonBlockingLockExclusive).map_err(|errno| said(errno.into()))?;
        let ready_bytes = bytes_with_memory(&pool, before).map_err(said)?;
        let resized = before
            .geometry
            .resized(wanted.geometry.pool_bytes, site.huge_page_bytes)
            .map_err(|error| error.message().to_owned())?;
        let pool_bytes = resized.pool_bytes.max(ready_bytes);
        let geometry = Geometry {
            pool_bytes,
            ..resized.with_room_for(wanted.geometry.most_bytes().max(pool_bytes))
        };
        let header = Header {
            geometry,
            ..wanted.clone()
        };
        // Longer first: a table may be longer than its header says, but not shorter.
        if table_bytes < header.table_bytes() {
            table.set_len(header.table_bytes()).map_err(said)?;
        }
        rewrite_header(&table, &header).map_err(|error| error.message().to_owned())?;
        let (pool, table) = (Arc::new(pool), Arc::new(table));
        let files = Self {
            header: Mutex::new(header),
            paths: vec![
                (path.clone(), Arc::clone(&pool)),
                (leftover.path.clone(), Arc::clone(&table)),
            ],
            pool,
            slots: table,
            is_kept: AtomicBool::new(false),
        };
        Ok(Adopted {
            files,
            ready_bytes,
            wanted_bytes: resized.pool_bytes,
        })
    }

    /// Lets the files outlive this process; the bytes of memory that they take.
    pub(super) fn keep(&self) -> u64 {
        self.is_kept.store(true, Ordering::Relaxed);
        let files = self.paths.iter();
        files
            .map(|(_, file)| file.metadata().map_or(0, |metadata| allocated(&metadata)))
            .sum()
    }

    /// What the slot table says of itself.
    pub(super) fn header(&self) -> Header {
        self.header.lock().clone()
    }

    /// Gives the pool's memory behind `bytes` back, which nobody reaches for any more.
    pub(super) fn give_back(&self, bytes: u64) -> Result<()> {
        ftruncate(&*self.pool, bytes).map_err(|errno| Error::io("give memory of the pool back", errno.into()))
    }

    /// Says that the pool has another size.
    pub(super) fn set_pool_bytes(&self, bytes: u64) -> Result<()> {
        let mut header = self.header.lock();
        header.geometry.pool_bytes = bytes;
        rewrite_header(&self.slots, &header)
    }

    /// Says that this process uses the files no more, so that nobody has to wait for its end.
    fn release(&self) -> Result<()> {
        let released = Header {
            owner: NOBODY,
            ..self.header()
        };
        rewrite_header(&self.slots, &released)
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
        let is_kept = self.is_kept.load(Ordering::Relaxed);
        let done = if is_kept { self.release() } else { self.remove() };
        if let Err(error) = done {
            tracing::warn!(%error, is_kept, "the pool's files stay behind as after a kill");
        }
    }
}

/// Writes the header of a table that has one. A kill does not tear it: the kernel copies a page of tmpfs whole.
fn rewrite_header(table: &File, header: &Header) -> Result<()> {
    let bytes = header.encode()?;
    table
        .write_all_at(&bytes, 0)
        .map_err(|error| Error::io("write the slot table's header", error))
}

/// Why the files of `before` are not those that a daemon with this header would make, but for their size.
fn difference(before: &Header, header: &Header) -> Option<String> {
    if before.format_version != header.format_version {
        return Some(format!(
            "it has format version {}, not {}",
            before.format_version, header.format_version
        ));
    }
    if !before.geometry.is_possible() {
        return Some(format!(
            "it has slabs of {} bytes for {} bytes, which no pool has",
            before.geometry.slab_bytes, before.geometry.pool_bytes
        ));
    }
    let site = |header: &Header| (header.kind, header.pool_path.clone(), header.socket.clone());
    (site(before) != site(header)).then(|| {
        format!(
            "it is {} of {}, not {} of {}",
            before.pool_path.display(),
            before.socket.display(),
            header.pool_path.display(),
            header.socket.display()
        )
    })
}

/// How far the file of a pool that is taken over has memory, in whole slabs.
fn bytes_with_memory(pool: &File, header: &Header) -> io::Result<u64> {
    let metadata = pool.metadata()?;
    if !metadata.is_file() || metadata.uid() != header.uid {
        return Err(io::Error::other("its pool is no file of this user"));
    }
    if metadata.len() > header.geometry.pool_bytes {
        return Err(io::Error::other("its pool is longer than its header says"));
    }
    let bytes = metadata.len() / header.geometry.slab_bytes * header.geometry.slab_bytes;
    if bytes > 0 && allocated(&metadata) < metadata.len() {
        // A kill amid fallocate can leave holes, which would be a SIGBUS where no memory is left.
        fallocate(pool, FallocateFlags::empty(), 0, bytes)?;
    }
    Ok(bytes)
}

pub(super) fn allocated(metadata: &Metadata) -> u64 {
    metadata.blocks() * 512
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
        let why = "exists and is no pool of an ended daemon of this user: free it with `pegaflow stop --purge`, move it away, or \
             give another --socket";
        return Error::new(ErrorKind::Conflict, format!("{} {why}", path.display()));
    }
    Error::io(format_args!("make {}", path.display()), error)
}
