//! The key of a directory of recordings: equal hashes have equal ids in all that lies there, and in nothing else.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pegaflow_core::error::{Error, ErrorKind, Result};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::directory::unusable;

/// The file's name, beside the recordings.
const NAME: &str = "ids.key";
/// Hexadecimal digits, behind which the line ends.
const DIGITS: usize = 32;

/// The key, and the right to record into its directory, which one daemon at a time has.
pub(super) struct Key {
    bits: u128,
    path: PathBuf,
    locked: File,
}

impl Key {
    /// The key of the directory, which gets one if it has none.
    ///
    /// # Errors
    /// `Conflict` while another daemon records there, `Config` for a file that has no key, `Io` for one that cannot be used.
    pub(super) fn of(directory: &Path) -> Result<Self> {
        let path = directory.join(NAME);
        let (bits, locked) = take(&path, rand::random())?;
        Ok(Self { bits, path, locked })
    }

    /// Gives the directory its key again where somebody has taken it away: the next daemon is to have it too.
    ///
    /// # Errors
    /// Why it cannot have it.
    pub(super) fn keep(&mut self) -> io::Result<()> {
        let locked = self.locked.metadata()?;
        let there = fs::metadata(&self.path);
        if there.is_ok_and(|there| (there.dev(), there.ino()) == (locked.dev(), locked.ino())) {
            return Ok(());
        }
        fs::metadata(self.path.parent().unwrap_or(&self.path))?;
        let taken = take(&self.path, self.bits).map_err(|error| io::Error::other(error.message()))?;
        if taken.0 != self.bits {
            let sentence = format!(
                "{} is another key than the recording began with: put the right one there, or end the recording and begin it anew",
                self.path.display()
            );
            return Err(io::Error::other(sentence));
        }
        self.locked = taken.1;
        Ok(())
    }

    /// What hashes are hidden with.
    pub(super) fn bytes(&self) -> [u8; 16] {
        self.bits.to_le_bytes()
    }
}

/// The key at a path, which is `new` where there is none, and the file, which nobody else has then.
fn take(path: &Path, new: u128) -> Result<(u128, File)> {
    let failed = |error: io::Error| unusable(path, error);
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(failed)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Err(in_use(path.parent().unwrap_or(path))),
        Err(errno) => return Err(failed(errno.into())),
    }
    let mut text = String::new();
    (&file)
        .take(DIGITS as u64 + 2)
        .read_to_string(&mut text)
        .map_err(failed)?;
    let bits = match text.trim_end() {
        "" => {
            writeln!(file, "{new:0DIGITS$x}").map_err(failed)?;
            file.sync_all().map_err(failed)?;
            new
        }
        digits if digits.len() == DIGITS => u128::from_str_radix(digits, 16).map_err(|_| no_key(path))?,
        _ => return Err(no_key(path)),
    };
    Ok((bits, file))
}

fn in_use(directory: &Path) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!(
            "another daemon records into {}: give each a directory of its own",
            directory.display()
        ),
    )
}

fn no_key(path: &Path) -> Error {
    Error::new(
        ErrorKind::Config,
        format!(
            "{} is no key of {DIGITS} hexadecimal digits: put the right one there, or remove it, and what is recorded from then on has other ids",
            path.display()
        ),
    )
}
