//! The segment files of a path: which of the files that are named so are its own, and how they come and go.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustix::fs::{AtFlags, CWD, OFlags, linkat};

use super::super::format::{SegmentHeader, UNIT};
use super::super::io::{Action, Buffer, wait};
use super::SEGMENT_BYTES;
use super::directory::{
    Directory, FILE_MODE, TRANSFER_WAIT, create, has_no_unnamed_files, lock_file, open, sync_dir,
    unnamed_path,
};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Arc;

/// What a file is that is named like a segment.
#[derive(Debug)]
pub(super) enum SegmentFile {
    /// A whole one of this path, locked; None for a header that is damaged.
    Own(Arc<File>, u64, Option<SegmentHeader>),
    /// One of this path that was not made to its end, or that somebody cut, of so many bytes.
    Cut(u64),
    /// One of so many bytes that cannot be read now, or whose first unit is damaged so that it may be this path's or not: it counts,
    /// and is left alone.
    Unreadable(u64),
    /// Not known to be of this path: it is never written, and never deleted.
    Other,
}

impl Directory {
    /// The numbers that files of the directory are named by.
    pub(in crate::ssd) fn segment_numbers(&self) -> Result<Vec<u32>> {
        let failed = |error| Error::io(format_args!("list {}", self.dir.display()), error);
        let mut numbers = Vec::new();
        for entry in fs::read_dir(&self.dir).map_err(failed)? {
            numbers.extend(segment_number(&entry.map_err(failed)?.file_name()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// Looks at a file, and opens and locks it if it is a segment of this path.
    pub(super) fn open_segment(&self, number: u32) -> Result<SegmentFile> {
        let path = self.segment_path(number);
        let failed = |error| Error::io(format_args!("open {}", path.display()), error);
        let found = fs::symlink_metadata(&path).map_err(failed)?;
        if !found.is_file() || found.size() == 0 {
            return Ok(SegmentFile::Other);
        }
        let file = match open(&path, self.flags()) {
            Err(error) if is_denied(&error) => return Ok(SegmentFile::Other),
            opened => Arc::new(opened.map_err(failed)?),
        };
        match self.read_header(&file) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(SegmentFile::Other),
            Err(_) => return Ok(SegmentFile::Unreadable(found.size())),
            Ok(header) if !self.is_own(number, &header) => {
                return Ok(if may_be_own(&found, &header) {
                    SegmentFile::Unreadable(found.size())
                } else {
                    SegmentFile::Other
                });
            }
            Ok(_) => lock_file(&file, &path, TRANSFER_WAIT, &|| ())?,
        }
        // What a daemon was killed over may have been written until the lock was free.
        let bytes = file.metadata().map_err(failed)?.size();
        let Ok(header) = self.read_header(&file) else {
            return Ok(SegmentFile::Unreadable(bytes));
        };
        let header = SegmentHeader::decode(header.bytes());
        let is_whole = bytes >= *SEGMENT_BYTES.start()
            && bytes.is_multiple_of(UNIT)
            && header.is_none_or(|header| header.bytes == bytes);
        if !is_whole {
            return Ok(SegmentFile::Cut(bytes));
        }
        Ok(SegmentFile::Own(file, bytes, header))
    }

    fn read_header(&self, file: &Arc<File>) -> io::Result<Buffer> {
        let mut buffer = Buffer::new(UNIT as usize);
        let memory = vec![buffer.page()];
        wait(&*self.engine, Action::Read, file, 0, memory).map(|()| buffer)
    }

    /// Whether a first unit is that of a segment of this path with this number, damaged as it may be otherwise.
    fn is_own(&self, number: u32, unit: &Buffer) -> bool {
        let header = SegmentHeader::decode(unit.bytes());
        SegmentHeader::names_path(unit.bytes(), &self.identity.path_id)
            && header.is_none_or(|header| header.number == number)
    }

    /// Makes a segment with all its room, of the first number from `number` on that no file has; which that is.
    ///
    /// The file has its name once it is whole, as far as the file system has files without.
    ///
    /// # Errors
    /// `NoSpace` for a file system that is full or lets no more be made, which is left as it was.
    pub(super) fn create_segment(&self, mut number: u32, bytes: u64) -> Result<(u32, Arc<File>)> {
        while fs::symlink_metadata(self.segment_path(number)).is_ok() {
            number = number.wrapping_add(1);
        }
        let path = self.segment_path(number);
        let failed = |error: io::Error| {
            if is_denied(&error) {
                return Error::new(ErrorKind::NoSpace, format!("make {}: {error}", path.display()));
            }
            Error::io(format_args!("make {}", path.display()), error)
        };
        let (file, is_named) = match create(&self.dir, self.flags() | OFlags::TMPFILE) {
            Err(error) if has_no_unnamed_files(&error) => {
                let named = create(&path, self.flags() | OFlags::CREATE | OFlags::EXCL);
                (Arc::new(named.map_err(failed)?), true)
            }
            unnamed => (Arc::new(unnamed.map_err(failed)?), false),
        };
        lock_file(&file, &path, TRANSFER_WAIT, &|| ())?;
        let made = self.fill_new(&file, number, bytes).and_then(|()| {
            if !is_named {
                linkat(CWD, unnamed_path(&file), CWD, &path, AtFlags::SYMLINK_FOLLOW)?;
            }
            sync_dir(&self.dir)
        });
        if let Err(error) = made {
            if is_named {
                drop(fs::remove_file(&path));
            }
            return Err(failed(error));
        }
        Ok((number, file))
    }

    /// Gives a new file its header, which says whose it is before it takes any room, and its room.
    fn fill_new(&self, file: &Arc<File>, number: u32, bytes: u64) -> io::Result<()> {
        let header = self.header(number, bytes, 0);
        let mut buffer = Buffer::of(&header.encode());
        let memory = vec![buffer.page()];
        wait(&*self.engine, Action::Write, file, 0, memory)?;
        wait(&*self.engine, Action::Sync, file, 0, Vec::new())?;
        self.engine.allocate(file, bytes)
    }

    /// The header of a segment of this path.
    pub(super) fn header(&self, number: u32, bytes: u64, generation: u64) -> SegmentHeader {
        SegmentHeader {
            path_id: self.identity.path_id,
            number,
            generation,
            bytes,
        }
    }

    /// Deletes a segment of this path.
    ///
    /// # Errors
    /// `Permission` when that is denied.
    pub(super) fn delete_segment(&self, number: u32) -> Result<()> {
        let path = self.segment_path(number);
        let deleted = match self.engine.delete(&path) {
            // Somebody else has done it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            deleted => deleted.and_then(|()| sync_dir(&self.dir)),
        };
        deleted.map_err(|error| {
            if is_denied(&error) {
                return Error::new(
                    ErrorKind::Permission,
                    format!("delete {}: {error}", path.display()),
                );
            }
            Error::io(format_args!("delete {}", path.display()), error)
        })
    }

    pub(super) fn segment_path(&self, number: u32) -> PathBuf {
        self.dir.join(segment_name(number))
    }
}

/// Whether a file whose first unit is no header may be a segment of this path all the same: one that this daemon's user made so.
fn may_be_own(file: &fs::Metadata, unit: &Buffer) -> bool {
    SegmentHeader::decode(unit.bytes()).is_none()
        && file.mode() & 0o777 == FILE_MODE
        && file.uid() == rustix::process::geteuid().as_raw()
        && file.size() >= *SEGMENT_BYTES.start()
}

/// Whether files that are there can be used though no more can be made, and none be deleted.
fn is_denied(error: &io::Error) -> bool {
    let denials = [
        libc::EPERM,
        libc::EACCES,
        libc::EROFS,
        libc::EDQUOT,
        libc::EFBIG,
        libc::EMFILE,
        libc::ENFILE,
    ];
    error.raw_os_error().is_some_and(|error| denials.contains(&error))
}

fn segment_name(number: u32) -> String {
    format!("segment-{number:06}.ssd")
}

/// The number in the name of a segment file.
pub(in crate::ssd) fn segment_number(name: &OsStr) -> Option<u32> {
    let name = name.to_str()?;
    let digits = name.strip_prefix("segment-")?.strip_suffix(".ssd")?;
    let number = digits.parse().ok()?;
    (segment_name(number) == name).then_some(number)
}
