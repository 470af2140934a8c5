//! Which tier, and which part of it, an operation is about.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::progress::Progress;
use pegaflow_core::ssd::{Patience, Ssd};
use serde::{Deserialize, Serialize};

use super::path::AbsolutePath;
use crate::daemon::Daemon;

/// How long the disks may take for one step of an operation.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);

/// Waits for the disks as long as one step may take, and as somebody waits for the operation.
pub(super) fn patiently<T>(progress: &Progress, wait: impl FnOnce(Patience<'_>) -> T) -> T {
    let mut is_cancelled = || progress.is_cancelled();
    wait(Patience::new(Instant::now() + PATIENCE, &mut is_cancelled))
}

/// A tier that operations can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Tier {
    Memory,
    Ssd,
}

/// Refuses a path of the memory tier, which has none.
pub(super) fn refuse_path(path: Option<&AbsolutePath>) -> Result<()> {
    match path {
        None => Ok(()),
        Some(AbsolutePath(path)) => Err(Error::new(
            ErrorKind::Invalid,
            format!(
                "path {path:?} is given, and the memory tier has no paths: leave it out, or name tier ssd"
            ),
        )),
    }
}

/// The ssd tier of a daemon.
pub(super) fn ssd(daemon: &Daemon) -> Result<&Arc<Ssd>> {
    daemon.store.ssd().ok_or_else(|| {
        Error::new(
            ErrorKind::Conflict,
            "there is no ssd tier: `pegaflow tier add-path PATH=SIZE` begins one",
        )
    })
}

/// The ssd tier of a daemon, which has a path that blocks can be on.
pub(super) fn ssd_with_paths(daemon: &Daemon) -> Result<&Arc<Ssd>> {
    let ssd = ssd(daemon)?;
    if ssd.snapshot().paths.is_empty() {
        return Err(Error::new(
            ErrorKind::Conflict,
            "the ssd tier has no path now: `pegaflow tier add-path PATH=SIZE` gives it one",
        ));
    }
    Ok(ssd)
}

/// The path that is named, or all of them.
///
/// # Errors
/// `NotFound`, naming those that there are.
pub(super) fn paths(ssd: &Ssd, named: Option<&AbsolutePath>) -> Result<Vec<PathBuf>> {
    let mut paths: Vec<_> = ssd.snapshot().paths.into_iter().map(|path| path.dir).collect();
    if let Some(AbsolutePath(named)) = named {
        if !paths.contains(named) {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("path {named:?} is none of the ssd tier's, which are {paths:?}"),
            ));
        }
        paths = vec![named.clone()];
    }
    Ok(paths)
}

/// The path that is named, or the only one.
///
/// # Errors
/// As for [`paths`], and `Invalid` when there are several.
pub(super) fn one_path(ssd: &Ssd, named: Option<&AbsolutePath>) -> Result<PathBuf> {
    let mut paths = paths(ssd, named)?;
    match (paths.pop(), paths.as_slice()) {
        (Some(path), []) => Ok(path),
        _ => Err(Error::new(
            ErrorKind::Invalid,
            "the ssd tier has several paths: name the one that is meant",
        )),
    }
}
