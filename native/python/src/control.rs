//! `status`, `stop` and `purge`: single calls about a daemon.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use serde_json::json;

use crate::enter::enter;
use crate::error::ConfigError;

/// The daemon's status document as JSON.
#[pyfunction]
pub(crate) fn status(py: Python<'_>, socket: PathBuf, timeout_s: f64) -> PyResult<String> {
    let timeout = seconds("timeout_s", timeout_s)?;
    enter(py, || pegaflow_client::status(&socket, timeout))
}

/// Drain and end the daemon; returns when its process has ended.
#[pyfunction]
pub(crate) fn stop(py: Python<'_>, socket: PathBuf, purge: bool, timeout_s: f64) -> PyResult<String> {
    let timeout = seconds("timeout_s", timeout_s)?;
    let stopped = enter(py, || pegaflow_client::stop(&socket, purge, timeout))?;
    Ok(json!({"pid": stopped.pid, "pool_bytes_kept": stopped.pool_bytes_kept}).to_string())
}

/// Free the pool that an ended daemon left; the bytes of memory that it took.
#[pyfunction]
pub(crate) fn purge(py: Python<'_>, socket: PathBuf, pool_dir: Option<PathBuf>) -> PyResult<u64> {
    enter(py, || {
        pegaflow_core::pool::remove_left(&socket, pool_dir.as_deref())
    })
}

/// A duration that an argument gives in seconds.
pub(crate) fn seconds(argument: &str, value: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(value).map_err(|_| {
        ConfigError::new_err(format!(
            "{argument} = {value}: a number of seconds from 0 on is allowed"
        ))
    })
}
