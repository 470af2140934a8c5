//! `Operation`: an operation under way in a daemon.

use std::path::PathBuf;

use pegaflow_client::OperationEvent;
use pyo3::prelude::*;
use serde_json::json;

use crate::control::seconds;
use crate::enter::enter;

/// An operation on tiers or namespaces, under way in a daemon.
#[pyclass(module = "pegaflow._native", frozen)]
pub(crate) struct Operation(pegaflow_client::Operation);

#[pymethods]
impl Operation {
    #[new]
    fn new(py: Python<'_>, socket: PathBuf, operation_json: String, timeout_s: f64) -> PyResult<Self> {
        let timeout = seconds("timeout_s", timeout_s)?;
        enter(py, || {
            pegaflow_client::Operation::start(&socket, operation_json, timeout)
        })
        .map(Self)
    }

    fn next(&self, py: Python<'_>) -> PyResult<(&'static str, String)> {
        Ok(match enter(py, || self.0.next())? {
            OperationEvent::Progress(progress) => {
                let numbers = json!({
                    "blocks": progress.blocks,
                    "bytes": progress.bytes,
                    "blocks_expected": progress.blocks_expected,
                    "bytes_expected": progress.bytes_expected,
                });
                ("progress", numbers.to_string())
            }
            OperationEvent::Result(json) => ("result", json),
        })
    }

    fn cancel(&self, py: Python<'_>) {
        py.detach(|| self.0.cancel());
    }
}
