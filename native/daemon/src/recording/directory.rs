//! What is said of a directory that cannot hold recordings, or not as many as it may.

use std::io;
use std::path::Path;

use pegaflow_core::error::{Error, ErrorKind};
use rustix::fs::statvfs;

use crate::ssd_room::size;

/// Refuses a directory, or a file in it, that cannot be used.
pub(super) fn unusable(path: &Path, error: io::Error) -> Error {
    let remedy = "give a directory that the daemon may write to, or one that is not there yet";
    let refused = |why: &str| {
        format!(
            "{} cannot be used for recordings: {why}; {remedy}",
            path.display()
        )
    };
    match error.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            Error::new(ErrorKind::Config, refused("a file is in the way"))
        }
        _ => {
            let message = refused(&words(&error));
            Error::new(Error::io("", error).kind(), message)
        }
    }
}

/// An error of the system without its number.
pub(super) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// A sentence on a file system that has less than recordings may take, of which `used_bytes` are there.
pub(super) fn shortage(directory: &Path, max_bytes: u64, used_bytes: u64) -> Option<String> {
    let file_system = statvfs(directory).ok()?;
    let free = u128::from(file_system.f_bavail) * u128::from(file_system.f_frsize);
    let available = free + u128::from(used_bytes);
    (u128::from(max_bytes) > available).then(|| {
        format!(
            "{directory:?} may take {} of recordings, and the file system has {} beside what others use: let it take less, or make room",
            size(max_bytes.into()),
            size(available)
        )
    })
}
