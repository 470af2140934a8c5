//! The files of a recording: each is a row of gzip members, so that what is written stays readable whatever happens.

use std::collections::VecDeque;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use flate2::Compression;
use flate2::write::GzEncoder;

const PREFIX: &str = "lookups-";
const SUFFIX: &str = ".jsonl.gz";
/// The fastest with codes made for the text, which is digits mostly.
const COMPRESSION: Compression = Compression::new(2);
/// The bytes that may be taken are those of about so many files, of which the oldest goes.
const FILES: u64 = 8;

#[derive(Debug)]
pub(super) struct Files {
    directory: PathBuf,
    max_bytes: u64,
    /// The oldest first, each with its bytes; names sort by time.
    there: VecDeque<(PathBuf, u64)>,
    open: Option<File>,
}

impl Files {
    /// The files that are in the directory; others are left alone.
    pub(super) fn open(directory: &Path, max_bytes: u64) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        let mut there = Vec::new();
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            let is_ours = name
                .to_str()
                .is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX));
            if is_ours {
                there.push((entry.path(), entry.metadata()?.len()));
            }
        }
        there.sort();
        let mut files = Self {
            directory: directory.to_owned(),
            max_bytes,
            there: there.into(),
            open: None,
        };
        files.make_room(0)?;
        Ok(files)
    }

    /// Bytes of all files.
    pub(super) fn bytes(&self) -> u64 {
        self.there.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Appends a member with this text to the newest file, or to a new one, and lets old files go for it.
    pub(super) fn append(&mut self, text: &str, now: SystemTime) -> io::Result<()> {
        let mut encoder = GzEncoder::new(Vec::new(), COMPRESSION);
        encoder.write_all(text.as_bytes())?;
        let member = encoder.finish()?;
        let length = member.len() as u64;
        self.forget_gone()?;
        self.make_room(length)?;
        let has_room = self
            .there
            .back()
            .is_some_and(|(_, bytes)| bytes + length <= self.max_bytes / FILES);
        if self.open.is_none() || !has_room {
            self.begin(now)?;
        }
        let (Some(file), Some((_, bytes))) = (&mut self.open, self.there.back_mut()) else {
            return Ok(());
        };
        let written = file.write_all(&member).and_then(|()| file.metadata());
        match written {
            Ok(metadata) => *bytes = metadata.len(),
            Err(error) => {
                // What could be written of it must not be in front of the next.
                drop(file.set_len(*bytes));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Forgets files that somebody else has moved away or deleted, and goes on in a new one where that was the newest.
    fn forget_gone(&mut self) -> io::Result<()> {
        self.there.retain(|(path, _)| fs::symlink_metadata(path).is_ok());
        if let Some(open) = &self.open {
            let open = open.metadata()?;
            let newest = self.there.back().map(|(path, _)| fs::metadata(path));
            let is_newest = |newest: fs::Metadata| (newest.dev(), newest.ino()) == (open.dev(), open.ino());
            if !newest.is_some_and(|newest| newest.is_ok_and(is_newest)) {
                self.open = None;
            }
        }
        Ok(())
    }

    fn begin(&mut self, now: SystemTime) -> io::Result<()> {
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
        let path = self
            .directory
            .join(format!("{PREFIX}{:020}{SUFFIX}", since.as_nanos()));
        let options = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .clone();
        self.open = Some(options.open(&path)?);
        self.there.push_back((path, 0));
        Ok(())
    }

    /// Lets the oldest files go until so many bytes fit.
    fn make_room(&mut self, length: u64) -> io::Result<()> {
        while self.bytes() + length > self.max_bytes {
            let Some((path, _)) = self.there.front() else {
                return Ok(());
            };
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            self.there.pop_front();
            if self.there.is_empty() {
                self.open = None;
            }
        }
        Ok(())
    }
}
