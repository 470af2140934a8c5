//! Which tier an operation is about.

use std::path::PathBuf;

use pegaflow_core::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

/// A tier that operations can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Tier {
    Memory,
    Ssd,
}

/// A path of the ssd tier, which is named from / on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "PathBuf")]
pub(super) struct TierPath(pub(super) PathBuf);

impl TryFrom<PathBuf> for TierPath {
    type Error = String;

    fn try_from(path: PathBuf) -> std::result::Result<Self, String> {
        if path.is_absolute() {
            return Ok(Self(path));
        }
        Err(format!("path {path:?} is relative: give it from / on"))
    }
}

/// The refusal of a path where there is none.
pub(super) fn refuse_path(path: Option<&TierPath>) -> Result<()> {
    match path {
        None => Ok(()),
        Some(TierPath(path)) => Err(Error::new(
            ErrorKind::Invalid,
            format!(
                "path {path:?} is given, and the memory tier has no paths: leave it out, or name tier ssd"
            ),
        )),
    }
}

/// The refusal of what needs an ssd tier.
pub(super) fn no_ssd() -> Error {
    Error::new(
        ErrorKind::Conflict,
        "there is no ssd tier: start the daemon with --ssd PATH=SIZE",
    )
}
