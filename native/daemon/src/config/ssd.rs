//! The settings of the ssd tier.

use std::path::{Component, Path, PathBuf};

use pegaflow_core::error::Result;
use pegaflow_core::ssd::{IoEngineKind, SsdConfig, SsdPathConfig, check_capacity};
use pegaflow_core::store::{Admission, TierConfig};
use serde::{Deserialize, Serialize};

use super::{DaemonConfig, refused};

/// Above this nothing would ever be fetched.
const MIN_BENEFIT_MAX: f64 = 1000.0;

/// One directory of the ssd tier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SsdPath {
    /// The directory; made if it does not exist, in one that does.
    pub path: PathBuf,
    /// Bytes that its files may take.
    pub capacity_bytes: u64,
}

/// [`IoEngineKind`] as a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "IoEngineKind describes them")]
pub enum SsdEngine {
    #[default]
    Auto,
    Uring,
    Psync,
}

impl From<SsdEngine> for IoEngineKind {
    fn from(engine: SsdEngine) -> Self {
        match engine {
            SsdEngine::Auto => Self::Auto,
            SsdEngine::Uring => Self::Uring,
            SsdEngine::Psync => Self::Psync,
        }
    }
}

/// [`Admission`] as a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "Admission describes them")]
pub enum SsdAdmission {
    #[default]
    All,
    Reused,
}

impl From<SsdAdmission> for Admission {
    fn from(admission: SsdAdmission) -> Self {
        match admission {
            SsdAdmission::All => Self::All,
            SsdAdmission::Reused => Self::Reused,
        }
    }
}

pub(super) fn default_fetch_bytes() -> u64 {
    256 << 20
}

pub(super) fn default_min_benefit() -> f64 {
    1.0
}

impl DaemonConfig {
    /// The ssd tier; None without a path.
    pub(crate) fn tier(&self) -> Option<TierConfig> {
        let paths = self.ssd.iter().map(|path| SsdPathConfig {
            dir: path.path.clone(),
            capacity: path.capacity_bytes,
        });
        (!self.ssd.is_empty()).then(|| self.tier_on(paths.collect()))
    }

    /// The ssd tier on these paths.
    pub(crate) fn tier_on(&self, paths: Vec<SsdPathConfig>) -> TierConfig {
        TierConfig {
            ssd: SsdConfig {
                paths,
                engine: self.ssd_engine.into(),
                write_budget: self.ssd_write_budget_bytes,
            },
            admission: self.ssd_admission.into(),
            fetch_bytes: self.ssd_fetch_bytes,
            min_benefit: self.min_benefit,
        }
    }
}

/// Refuses a path that a tier cannot have beside its `others`.
///
/// # Errors
/// `Config`, naming the path and what is allowed.
pub(crate) fn check_path(path: &Path, others: &[impl AsRef<Path>]) -> Result<()> {
    if !path.is_absolute() {
        return Err(refused(format!(
            "ssd path {path:?} is relative: give it from / on"
        )));
    }
    // What is beside it, or in it, is to be seen without a look at the disk.
    if path.components().any(|part| part == Component::ParentDir) {
        return Err(refused(format!(
            "ssd path {path:?} goes up with \"..\": give it without"
        )));
    }
    // Lists, logs and confirmations have a path on one line.
    if path.to_string_lossy().chars().any(char::is_control) {
        return Err(refused(format!(
            "ssd path {path:?} has a control character: give one without"
        )));
    }
    let mut others = others.iter().map(AsRef::as_ref);
    let is_nested = |other: &&Path| path != *other && (path.starts_with(other) || other.starts_with(path));
    match others.find(is_nested) {
        None => Ok(()),
        Some(other) => Err(refused(format!(
            "ssd paths {path:?} and {other:?} are one in the other: give each a directory of its own"
        ))),
    }
}

/// Refuses values that no ssd tier can have.
pub(super) fn check(config: &DaemonConfig) -> Result<()> {
    let mut paths: Vec<&Path> = Vec::new();
    for SsdPath { path, capacity_bytes } in &config.ssd {
        if paths.contains(&path.as_path()) {
            return Err(refused(format!(
                "ssd path {path:?} is there twice: name each once"
            )));
        }
        check_path(path, &paths)?;
        check_capacity(path, *capacity_bytes)?;
        paths.push(path);
    }
    if config.ssd_write_budget_bytes == Some(0) {
        return Err(refused(
            "ssd_write_budget = 0: give the bytes that may be written in a day, or leave it unset for no limit",
        ));
    }
    if config.ssd_fetch_bytes == 0 {
        return Err(refused(
            "ssd_fetch_bytes = 0: give the bytes that may be on their way from the ssd tier at once, such as 256MiB",
        ));
    }
    let min_benefit = config.min_benefit;
    if !(0.0..=MIN_BENEFIT_MAX).contains(&min_benefit) {
        return Err(refused(format!(
            "min_benefit = {min_benefit}: 0 (fetch always) to {MIN_BENEFIT_MAX} are allowed"
        )));
    }
    if config.warm_on_start && config.ssd.is_empty() {
        return Err(refused(
            "warm_on_start = true without an ssd path: set ssd, which is where the blocks come from",
        ));
    }
    Ok(())
}
