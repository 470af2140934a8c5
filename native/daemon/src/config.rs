//! What the daemon is started with: the JSON of `pegaflow.config.DaemonConfig`.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pegaflow_core::cuda::{CopyStrategy as Strategy, GpuSettings};
use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::eviction::PolicyKind;
use pegaflow_core::store::{SCRUB_PERIOD, Verify};
use serde::{Deserialize, Serialize};

mod ssd;

pub(crate) use ssd::check_path;
pub use ssd::{SsdAdmission, SsdEngine, SsdPath};

/// The longest path that Linux can bind a Unix socket to.
pub const SOCKET_PATH_BYTES_MAX: usize = 107;

/// Below this a single block could hold a request for minutes.
const MAX_RATE_MIN: u64 = 1 << 20;

/// Recordings go in eighths, each of which should hold some time.
const RECORD_BYTES_MIN: u64 = 1 << 20;

/// The settings of one daemon.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DaemonConfig {
    /// Where engines and commands reach the daemon; names the lock, the grant files and the pool too.
    pub socket: PathBuf,
    /// A group, by name or number, whose members may use the socket too.
    #[serde(default)]
    pub socket_group: Option<String>,
    /// Where HTTP is served. None: 127.0.0.1:9091, or the next free port.
    #[serde(default)]
    pub http_addr: Option<String>,
    /// The file with the secret that lets HTTP change something. None: HTTP changes nothing.
    #[serde(default)]
    pub http_token_file: Option<PathBuf>,
    /// Bytes of the memory tier.
    pub pool_bytes: u64,
    /// How the pool's size came about, for people who ask for the status.
    #[serde(default)]
    pub pool_size_origin: String,
    /// Where the pool's file lies. None: where there is room for it.
    #[serde(default)]
    pub pool_dir: Option<PathBuf>,
    /// Which block goes when room is needed.
    #[serde(default)]
    pub eviction_policy: EvictionPolicy,
    /// When pages are compared with their checksums.
    #[serde(default)]
    pub verify: VerifySetting,
    /// Seconds in which the background looks at every page once.
    #[serde(default = "default_scrub_period_s")]
    pub scrub_period_s: f64,
    /// The directories that the ssd tier begins with; none: there is no ssd tier before one is added.
    #[serde(default)]
    pub ssd: Vec<SsdPath>,
    /// How the ssd tier does its I/O.
    #[serde(default)]
    pub ssd_engine: SsdEngine,
    /// Bytes a day that may be written to the ssd tier. None: no limit.
    #[serde(default)]
    pub ssd_write_budget_bytes: Option<u64>,
    /// Which blocks are written to the ssd tier.
    #[serde(default)]
    pub ssd_admission: SsdAdmission,
    /// Bytes that may be on their way from the ssd tier to lookups at once.
    #[serde(default = "ssd::default_fetch_bytes")]
    pub ssd_fetch_bytes: u64,
    /// Blocks are fetched from the ssd tier when computing them takes at least so many times as long; 0: always.
    #[serde(default = "ssd::default_min_benefit")]
    pub min_benefit: f64,
    /// Whether the memory tier's free room is filled from the ssd tier at the start.
    #[serde(default)]
    pub warm_on_start: bool,
    /// Where lookups are recorded. None: they are not.
    #[serde(default)]
    pub record_dir: Option<PathBuf>,
    /// Bytes of all recordings there at most.
    #[serde(default = "default_record_bytes")]
    pub record_bytes: u64,
    /// Where metrics and traces go by OTLP over gRPC. None: nowhere.
    #[serde(default)]
    pub otlp_endpoint: Option<String>,
    /// Seconds that a lease lasts unless it is renewed.
    #[serde(default = "default_lease_ttl_s")]
    pub lease_ttl_s: f64,
    /// Threads that copy blocks from and to engines' memory.
    #[serde(default = "default_copy_threads")]
    pub copy_threads: usize,
    /// How copies on GPUs are handed to the driver.
    #[serde(default)]
    pub copy_strategy: CopyStrategy,
    /// Bytes per second that are copied on one GPU at most. None: no limit.
    #[serde(default)]
    pub max_rate_bytes_s: Option<u64>,
    /// Seconds that a draining daemon waits for transfers under way.
    #[serde(default = "default_drain_timeout_s")]
    pub drain_timeout_s: f64,
    /// How much is logged.
    #[serde(default)]
    pub log_level: LogLevel,
    /// The form of a log line.
    #[serde(default)]
    pub log_format: LogFormat,
    /// Where a detached daemon logs; for people who ask for the status.
    #[serde(default)]
    pub log_file: Option<PathBuf>,
    /// The file with its pid; for them too.
    #[serde(default)]
    pub pid_file: Option<PathBuf>,
}

/// [`PolicyKind`] as a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "PolicyKind describes them")]
pub enum EvictionPolicy {
    Lru,
    S3fifo,
    Sieve,
    Arc,
    Tinylfu,
    #[default]
    Density,
}

impl From<EvictionPolicy> for PolicyKind {
    fn from(policy: EvictionPolicy) -> Self {
        match policy {
            EvictionPolicy::Lru => Self::Lru,
            EvictionPolicy::S3fifo => Self::S3Fifo,
            EvictionPolicy::Sieve => Self::Sieve,
            EvictionPolicy::Arc => Self::Arc,
            EvictionPolicy::Tinylfu => Self::TinyLfu,
            EvictionPolicy::Density => Self::Density,
        }
    }
}

/// [`Verify`] as a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "Verify describes them")]
pub enum VerifySetting {
    Always,
    #[default]
    First,
    Off,
}

impl From<VerifySetting> for Verify {
    fn from(verify: VerifySetting) -> Self {
        match verify {
            VerifySetting::Always => Self::Always,
            VerifySetting::First => Self::First,
            VerifySetting::Off => Self::Off,
        }
    }
}

/// How copies on GPUs are handed to the driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CopyStrategy {
    /// As is the fastest for each engine's layout, measured when it registers.
    #[default]
    Auto,
    /// Many runs in one call.
    Batch,
    /// A call for each run.
    Plain,
    /// By a ring in which the engine collects small runs.
    Gather,
}

/// How much is logged: this level and the more serious ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the usual names")]
pub enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

/// The form of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

fn default_scrub_period_s() -> f64 {
    SCRUB_PERIOD.as_secs_f64()
}

fn default_lease_ttl_s() -> f64 {
    600.0
}

/// Refuses recordings that are too small to hold anything; `name` says who asks.
///
/// # Errors
/// `Config`, naming what is allowed.
pub(crate) fn check_record_bytes(name: &str, bytes: u64) -> Result<()> {
    if bytes < RECORD_BYTES_MIN {
        return Err(refused(format!(
            "{name} = {bytes}: at least {RECORD_BYTES_MIN} bytes are allowed"
        )));
    }
    Ok(())
}

fn default_record_bytes() -> u64 {
    1 << 30
}

fn default_copy_threads() -> usize {
    2
}

fn default_drain_timeout_s() -> f64 {
    10.0
}

impl DaemonConfig {
    /// Reads and checks the JSON.
    ///
    /// # Errors
    /// `Config`, naming the setting, its value and what is allowed.
    pub fn from_json(json: &str) -> Result<Self> {
        let config: Self =
            serde_json::from_str(json).map_err(|error| refused(format!("the daemon's settings: {error}")))?;
        config.check()?;
        Ok(config)
    }

    /// Refuses values that no daemon can have.
    ///
    /// # Errors
    /// As [`DaemonConfig::from_json`].
    pub fn check(&self) -> Result<()> {
        let length = self.socket.as_os_str().as_bytes().len();
        if length == 0 || length > SOCKET_PATH_BYTES_MAX {
            return Err(refused(format!(
                "socket = {:?} has {length} bytes: a socket's path has 1 to {SOCKET_PATH_BYTES_MAX}, choose a shorter one",
                self.socket
            )));
        }
        if !(1..=64).contains(&self.copy_threads) {
            return Err(refused(format!(
                "copy_threads = {}: 1 to 64 are allowed",
                self.copy_threads
            )));
        }
        if self.max_rate_bytes_s.is_some_and(|rate| rate < MAX_RATE_MIN) {
            return Err(refused(format!(
                "max_rate = {}: at least {MAX_RATE_MIN} bytes per second are allowed",
                self.max_rate_bytes_s.unwrap_or(0)
            )));
        }
        check_record_bytes("record_size", self.record_bytes)?;
        if self.lease_ttl()?.is_zero() {
            return Err(refused(
                "lease_ttl = 0: a lease must last for some time, such as 600s",
            ));
        }
        if self.scrub_period()?.is_zero() {
            return Err(refused(
                "scrub_period = 0: looking at all pages takes some time, such as 24h",
            ));
        }
        ssd::check(self)?;
        self.drain_timeout().map(drop)
    }

    /// How long the background takes to look at every page once.
    ///
    /// # Errors
    /// `Config` for a number that is no duration.
    pub fn scrub_period(&self) -> Result<Duration> {
        seconds("scrub_period", self.scrub_period_s)
    }

    /// How long a lease lasts unless it is renewed.
    ///
    /// # Errors
    /// `Config` for a number that is no duration.
    pub fn lease_ttl(&self) -> Result<Duration> {
        seconds("lease_ttl", self.lease_ttl_s)
    }

    /// What is set of the copies on GPUs.
    pub fn gpu_settings(&self) -> GpuSettings {
        GpuSettings {
            strategy: match self.copy_strategy {
                CopyStrategy::Auto => Strategy::Auto,
                CopyStrategy::Batch => Strategy::Batch,
                CopyStrategy::Plain => Strategy::Plain,
                CopyStrategy::Gather => Strategy::Gather,
            },
            max_rate: self.max_rate_bytes_s,
        }
    }

    /// How long a draining daemon waits for transfers under way.
    ///
    /// # Errors
    /// `Config` for a number that is no duration.
    pub fn drain_timeout(&self) -> Result<Duration> {
        seconds("drain_timeout", self.drain_timeout_s)
    }

    /// The path beside the socket that has this ending.
    pub(crate) fn beside_socket(socket: &Path, ending: &str) -> PathBuf {
        let mut path = OsString::from(socket);
        path.push(ending);
        path.into()
    }
}

fn seconds(key: &str, value: f64) -> Result<Duration> {
    const DAY_S: f64 = 86_400.0;
    if !(0.0..=DAY_S).contains(&value) {
        return Err(refused(format!("{key} = {value}s: 0s to 24h are allowed")));
    }
    Ok(Duration::from_secs_f64(value))
}

fn refused(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Config, message)
}

#[cfg(test)]
mod tests;
