//! The key of a directory of recordings: equal hashes have equal ids in all that lies there, and in nothing else.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

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
    _locked: File,
}

impl Key {
    /// The key of the directory, which gets one if it has none.
    ///
    /// # Errors
    /// `Conflict` while another daemon records there, `Config` for a file that has no key, `Io` for one that cannot be used.
    pub(super) fn of(directory: &Path) -> Result<Self> {
        let path = directory.join(NAME);
        let failed = |error: io::Error| unusable(&path, error);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(in_use(directory)),
            Err(errno) => return Err(failed(errno.into())),
        }
        let mut text = String::new();
        (&file)
            .take(DIGITS as u64 + 2)
            .read_to_string(&mut text)
            .map_err(failed)?;
        let bits = match text.trim_end() {
            "" => {
                let bits: u128 = rand::random();
                writeln!(file, "{bits:0DIGITS$x}").map_err(failed)?;
                file.sync_all().map_err(failed)?;
                bits
            }
            digits if digits.len() == DIGITS => {
                u128::from_str_radix(digits, 16).map_err(|_| no_key(&path))?
            }
            _ => return Err(no_key(&path)),
        };
        Ok(Self { bits, _locked: file })
    }

    /// What hashes are hidden with.
    pub(super) fn bytes(&self) -> [u8; 16] {
        self.bits.to_le_bytes()
    }
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
