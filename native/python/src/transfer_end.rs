//! `TransferEnd`: the end of one save or load.

use pegaflow_client::TransferKind;
use pyo3::prelude::*;

/// The end of one save or load.
#[pyclass(module = "pegaflow._native", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct TransferEnd {
    transfer_id: u64,
    request_id: String,
    kind: &'static str,
    ok: bool,
    blocks: u32,
    bytes: u64,
    seconds: f64,
    message: String,
    lost: bool,
}

impl From<pegaflow_client::TransferEnd> for TransferEnd {
    fn from(end: pegaflow_client::TransferEnd) -> Self {
        Self {
            transfer_id: end.transfer_id,
            request_id: end.request_id,
            kind: match end.kind {
                TransferKind::Save => "save",
                TransferKind::Load => "load",
            },
            ok: end.ok,
            blocks: end.blocks,
            bytes: end.bytes,
            seconds: end.elapsed.as_secs_f64(),
            message: end.message,
            lost: end.lost,
        }
    }
}

#[pymethods]
impl TransferEnd {
    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}
