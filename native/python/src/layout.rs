//! `EngineLayout` and `StreamPoint`: where an engine's blocks are, and how far its stream is.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::enter::enter;

/// Where a worker's blocks are.
#[pyclass(module = "pegaflow._native", frozen)]
pub(crate) struct EngineLayout(pub(crate) pegaflow_client::EngineLayout);

#[pymethods]
impl EngineLayout {
    #[new]
    fn new(py: Python<'_>, layout_json: &str) -> PyResult<Self> {
        enter(py, || pegaflow_client::EngineLayout::from_json(layout_json)).map(Self)
    }
}

/// A point in a worker's stream.
#[pyclass(module = "pegaflow._native", frozen)]
pub(crate) struct StreamPoint(pub(crate) Arc<pegaflow_core::cuda::StreamPoint>);
