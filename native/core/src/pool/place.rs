//! Where a pool's file can lie, and whether there is room.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, StatFs, access, statfs};

use super::geometry::PAGE_UNIT;
use super::slot::RECORD_BYTES;
use super::{PoolKind, machine};
use crate::error::{Error, ErrorKind, Result};

/// Where the pool lies unless a directory is given, and the slot table of a pool on hugetlbfs.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";
const ENLARGE: &str = "enlarge it (mount -o remount,size=)";
const TMPFS_MAGIC: i64 = 0x0102_1994;
const HUGETLBFS_MAGIC: i64 = 0x9584_58f6;
/// Names of what people have below a directory, for the refusal.
const OTHER_FILE_SYSTEMS: [(i64, &str); 11] = [
    (0xef53, "ext2, ext3 or ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683e, "btrfs"),
    (0x794c_7630, "overlayfs"),
    (0x2fc1_2fc1, "zfs"),
    (0x6969, "nfs"),
    (0x6573_5546, "fuse"),
    (0x8584_58f6, "ramfs"),
    (0xff53_4d42, "cifs"),
    (0x0bd0_0bd0, "lustre"),
    (0x9fa0, "procfs"),
];

/// A place for a pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A directory, and the directory of the slot table.
    Directory {
        kind: PoolKind,
        pool: PathBuf,
        slots: PathBuf,
        huge_page_bytes: u64,
    },
    /// Anonymous memory, and why.
    Anonymous { reason: String },
}

impl Place {
    /// The directory that was given, or /dev/shm where it has room, or anonymous memory.
    ///
    /// # Errors
    /// `Config` for a given directory that cannot hold the pool.
    pub(super) fn choose(given: Option<&Path>, pool_bytes: u64) -> Result<Self> {
        let place = Self::directory(given).and_then(|place| {
            place.check_room(pool_bytes)?;
            Ok(place)
        });
        match (given, place) {
            (None, Err(error)) => Ok(Self::Anonymous {
                reason: error.message().to_owned(),
            }),
            (_, place) => place,
        }
    }

    /// Whether the pool's memory is set aside for such pools already.
    pub(super) fn is_huge_pages(&self) -> bool {
        matches!(
            self,
            Self::Directory {
                kind: PoolKind::Hugetlbfs,
                ..
            }
        )
    }

    /// The directory that was given, or /dev/shm, whether or not it has room.
    ///
    /// # Errors
    /// `Config` for a directory that cannot hold any pool.
    pub(super) fn directory(given: Option<&Path>) -> Result<Self> {
        let dir = given.unwrap_or(Path::new(SHARED_MEMORY));
        let shown = dir.display();
        let pool = fs::canonicalize(dir).map_err(|error| {
            refuse(format!(
                "pool directory {shown}: {error}: give an existing --pool-dir"
            ))
        })?;
        let stat = stat_of(&pool)?;
        let kind = kind_of(dir, &stat)?;
        access(&pool, Access::WRITE_OK | Access::EXEC_OK).map_err(|errno| {
            let error = std::io::Error::from(errno);
            refuse(format!(
                "pool directory {shown} is not writable: {error}: allow it or give another --pool-dir"
            ))
        })?;
        let (huge_page_bytes, slots) = match kind {
            PoolKind::Hugetlbfs => (stat.f_bsize as u64, PathBuf::from(SHARED_MEMORY)),
            PoolKind::Tmpfs | PoolKind::Memfd => (0, pool.clone()),
        };
        Ok(Self::Directory {
            kind,
            pool,
            slots,
            huge_page_bytes,
        })
    }

    pub(super) fn check_room(&self, pool_bytes: u64) -> Result<()> {
        let Self::Directory {
            pool,
            slots,
            huge_page_bytes,
            ..
        } = self
        else {
            return Ok(());
        };
        let free = free_bytes(&stat_of(pool)?);
        // The slot table grows as slabs are used.
        let table_bytes = pool_bytes / PAGE_UNIT * RECORD_BYTES;
        let table = format!("{table_bytes} bytes of a slot table");
        if !self.is_huge_pages() {
            let bytes = pool_bytes.saturating_add(table_bytes);
            let what = format!("a pool of {pool_bytes} bytes with {table}");
            return check_fits(&what, bytes, pool, free, ENLARGE);
        }
        let pages = free.or_else(|| machine::free_huge_page_bytes(*huge_page_bytes));
        let what = format!("a pool of {pool_bytes} bytes");
        check_fits(
            &what,
            pool_bytes,
            pool,
            pages,
            "reserve more huge pages (vm.nr_hugepages)",
        )?;
        let what = format!("{table} for a pool of {pool_bytes} bytes");
        check_fits(&what, table_bytes, slots, free_bytes(&stat_of(slots)?), ENLARGE)
    }
}

/// Refuses what a directory has no room for; `free` is None where the room has no limit.
fn check_fits(what: &str, bytes: u64, dir: &Path, free: Option<u64>, remedy: &str) -> Result<()> {
    match free {
        Some(free) if free < bytes => Err(refuse(format!(
            "{what} does not fit in {}, which has {free} bytes free: make the pool smaller, {remedy}, \
             or give another --pool-dir",
            dir.display()
        ))),
        _ => Ok(()),
    }
}

fn stat_of(dir: &Path) -> Result<StatFs> {
    statfs(dir).map_err(|errno| Error::io(format_args!("statfs of {}", dir.display()), errno.into()))
}

fn refuse(why: String) -> Error {
    Error::new(ErrorKind::Config, why)
}

fn kind_of(dir: &Path, stat: &StatFs) -> Result<PoolKind> {
    match stat.f_type {
        TMPFS_MAGIC => Ok(PoolKind::Tmpfs),
        HUGETLBFS_MAGIC => Ok(PoolKind::Hugetlbfs),
        other => {
            let known = OTHER_FILE_SYSTEMS.iter().find(|(magic, _)| *magic == other);
            let name = known.map_or(format!("a file system of type {other:#x}"), |(_, name)| {
                (*name).to_owned()
            });
            Err(refuse(format!(
                "pool directory {} is on {name}, allowed are hugetlbfs and tmpfs: give another --pool-dir, \
                 as {SHARED_MEMORY}",
                dir.display()
            )))
        }
    }
}

/// Free bytes; None where the file system has no limit of its own.
fn free_bytes(stat: &StatFs) -> Option<u64> {
    (stat.f_blocks > 0).then(|| stat.f_bavail.saturating_mul(stat.f_bsize as u64))
}
