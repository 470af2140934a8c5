//! The names of a pool's files: the user and the daemon's socket make them.

use std::fs;
use std::path::{Path, PathBuf};

use std::os::unix::ffi::OsStrExt;
use xxhash_rust::xxh3::xxh3_64;

const HASH_DIGITS: usize = 16;
const SLOTS_SUFFIX: &str = ".slots";
/// What the name of a pool's file ends in, behind the dot.
pub(super) const POOL_SUFFIX: &str = "pool";

/// The name without suffix of the files of the daemon that listens on `socket`.
pub(super) fn stem(uid: u32, socket: &Path) -> String {
    format!(
        "{}{:016x}",
        prefix(uid),
        xxh3_64(canonical(socket).as_os_str().as_bytes())
    )
}

/// The pool's file.
pub(super) fn pool_file(stem: &str) -> String {
    format!("{stem}.{POOL_SUFFIX}")
}

/// The slot table's file.
pub(super) fn slots_file(stem: &str) -> String {
    format!("{stem}{SLOTS_SUFFIX}")
}

/// The stem of a slot table's file of this user; None for other names.
pub(super) fn stem_of_slots(name: &str, uid: u32) -> Option<&str> {
    let stem = name.strip_suffix(SLOTS_SUFFIX)?;
    let hash = stem.strip_prefix(&prefix(uid))?;
    let is_hash =
        hash.len() == HASH_DIGITS && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_hash.then_some(stem)
}

fn prefix(uid: u32) -> String {
    format!("pegaflow-{uid}-")
}

/// One path for a socket, by whichever links its directory is reached.
pub(super) fn canonical(socket: &Path) -> PathBuf {
    let absolute = std::path::absolute(socket).unwrap_or_else(|_| socket.to_owned());
    match (absolute.parent().map(fs::canonicalize), absolute.file_name()) {
        (Some(Ok(parent)), Some(name)) => parent.join(name),
        _ => absolute,
    }
}
