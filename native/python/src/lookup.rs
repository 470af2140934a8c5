//! `Lookup`: the state of one request's lookup.

use pegaflow_client::LookupState;
use pyo3::prelude::*;

/// The state of one request's lookup.
#[pyclass(module = "pegaflow._native", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct Lookup {
    state: &'static str,
    memory_blocks: u32,
    ssd_blocks: u32,
    remote_blocks: u32,
    lease_id: u64,
    boot_id: u64,
}

impl From<pegaflow_client::Lookup> for Lookup {
    fn from(lookup: pegaflow_client::Lookup) -> Self {
        Self {
            state: match lookup.state {
                LookupState::Ready => "ready",
                LookupState::AskAgain => "ask_again",
                LookupState::Pending => "pending",
                LookupState::Off => "off",
            },
            memory_blocks: lookup.memory_blocks,
            ssd_blocks: lookup.ssd_blocks,
            remote_blocks: lookup.remote_blocks,
            lease_id: lookup.lease_id,
            boot_id: lookup.boot_id,
        }
    }
}

#[pymethods]
impl Lookup {
    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}
