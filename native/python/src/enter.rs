//! The one way from Python into the native crates.

use pyo3::{PyResult, Python};

use crate::error::Failure;

/// Calls `work` without the interpreter's lock, and raises what it says.
pub(crate) fn enter<T, E>(py: Python<'_>, work: impl FnOnce() -> Result<T, E> + Send) -> PyResult<T>
where
    T: Send,
    E: Into<Failure> + Send,
{
    py.detach(work).map_err(|error| error.into().into())
}
