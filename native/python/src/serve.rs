//! `serve`: the daemon in this process.

use std::ffi::OsString;

use pegaflow_core::error::{Error, ErrorKind};
use pegaflow_daemon::{DaemonConfig, run};
use pyo3::prelude::*;

use crate::enter::enter;

/// Run the daemon in this process until SIGTERM, SIGINT or `Control.Stop`.
#[pyfunction]
#[pyo3(signature = (config_json, ready, successor = Vec::new()))]
pub(crate) fn serve(
    py: Python<'_>,
    config_json: &str,
    ready: Py<PyAny>,
    successor: Vec<OsString>,
) -> PyResult<()> {
    let mut raised = None;
    let ended = enter(py, || {
        let config = DaemonConfig::from_json(config_json)?;
        run(config, successor, |answer| {
            let json = serde_json::to_string(answer)
                .map_err(|error| Error::new(ErrorKind::Io, format!("cannot tell what is ready: {error}")))?;
            Python::attach(|py| ready.call1(py, (json,)))
                .map(drop)
                .map_err(|error| {
                    raised = Some(error);
                    Error::new(ErrorKind::Io, "ready raised an exception")
                })
        })
    });
    // The signal that ended the daemon was for the daemon: Python must not raise KeyboardInterrupt for it once more.
    drop(py.check_signals());
    match raised {
        Some(error) => Err(error),
        None => ended,
    }
}

/// Refuse settings that no daemon can start with here.
#[pyfunction]
pub(crate) fn check(py: Python<'_>, config_json: &str) -> PyResult<()> {
    enter(py, || {
        pegaflow_daemon::check(&DaemonConfig::from_json(config_json)?)
    })
}
