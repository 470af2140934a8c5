//! Loads and stores of words in a grant file, which is never mapped.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic;

use super::format::{HEADER_BYTES, Header, Word};
use crate::error::{Error, ErrorKind, Result};

/// An open grant file.
#[derive(Debug)]
pub(super) struct WordFile {
    file: File,
    path: PathBuf,
    header: Header,
}

impl WordFile {
    /// Makes `file`, which must be new, a grant file.
    pub(super) fn create(file: File, path: &Path, header: Header) -> Result<Self> {
        let words = Self {
            file,
            path: path.to_owned(),
            header,
        };
        words
            .file
            .set_len(header.file_bytes())
            .map_err(|source| words.io("size", source))?;
        words
            .file
            .write_all_at(&header.encode(), 0)
            .map_err(|source| words.io("write", source))?;
        Ok(words)
    }

    /// Takes `file` for what its header says it is.
    pub(super) fn open(file: File, path: &Path) -> Result<Self> {
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact_at(&mut bytes, 0)
            .map_err(|source| Error::io(format_args!("read grant file {}", path.display()), source))?;
        let header = Header::decode(&bytes)
            .map_err(|error| Error::new(error.kind(), format!("grant file {} {error}", path.display())))?;
        let words = Self {
            file,
            path: path.to_owned(),
            header,
        };
        words.check_length()?;
        Ok(words)
    }

    pub(super) fn header(&self) -> Header {
        self.header
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn store(&self, at: u64, word: Word) -> Result<()> {
        self.file
            .write_all_at(&word.to_bytes(), at)
            .map_err(|source| self.io("write", source))
    }

    /// A word that was in the file; never the zeros of a file that somebody cut and a store made longer again.
    pub(super) fn load(&self, at: u64) -> Result<Word> {
        let mut bytes = [0; 8];
        self.file
            .read_exact_at(&mut bytes, at)
            .map_err(|source| self.io("read", source))?;
        self.check_length()?;
        Ok(Word::from_bytes(bytes))
    }

    fn check_length(&self) -> Result<()> {
        let length = self
            .file
            .metadata()
            .map_err(|source| self.io("stat", source))?
            .len();
        let expected = self.header.file_bytes();
        if length == expected {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Corrupt,
            format!(
                "grant file {} has {length} bytes instead of {expected}: somebody changed it",
                self.path.display()
            ),
        ))
    }

    fn io(&self, what: &str, source: std::io::Error) -> Error {
        Error::io(format_args!("{what} grant file {}", self.path.display()), source)
    }
}

/// Orders everything that this thread did before it, in memory and in the page cache, before everything after it.
pub(super) fn full_fence() {
    atomic::fence(atomic::Ordering::SeqCst);
}
