//! Paths in operations.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A path that does not depend on where anybody is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "PathBuf")]
pub(super) struct AbsolutePath(pub(super) PathBuf);

impl TryFrom<PathBuf> for AbsolutePath {
    type Error = String;

    fn try_from(path: PathBuf) -> Result<Self, String> {
        if path.is_absolute() {
            return Ok(Self(path));
        }
        Err(format!("path {path:?} is relative: give it from / on"))
    }
}

impl AsRef<Path> for AbsolutePath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}
