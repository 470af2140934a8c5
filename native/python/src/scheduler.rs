//! `SchedulerClient`: the scheduler side's session.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bytes::Bytes;
use pegaflow_client::{LeaseRef, SchedulerConfig};
use pyo3::prelude::*;

use crate::control::seconds;
use crate::enter::enter;
use crate::error::ConfigError;
use crate::lookup::Lookup;

/// The scheduler side's session: lookups and leases.
#[pyclass(module = "pegaflow._native", frozen)]
pub(crate) struct SchedulerClient(pegaflow_client::SchedulerClient);

#[pymethods]
impl SchedulerClient {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "Python names them")]
    fn new(
        py: Python<'_>,
        socket: PathBuf,
        engine_key: &[u8],
        engine_id: String,
        namespace: &[u8],
        model: String,
        workers: u32,
        shards: u32,
    ) -> PyResult<Self> {
        let config = SchedulerConfig {
            socket,
            engine_key: fixed("engine_key", engine_key)?,
            engine_id,
            namespace: fixed("namespace", namespace)?,
            model,
            workers,
            shards,
        };
        enter(py, || pegaflow_client::SchedulerClient::new(config)).map(Self)
    }

    fn lookup(
        &self,
        py: Python<'_>,
        request_id: &str,
        hashes: &[u8],
        hash_bytes: u32,
        wait_s: f64,
    ) -> PyResult<Lookup> {
        let hashes = Bytes::copy_from_slice(hashes);
        let wait = seconds("wait_s", wait_s)?;
        enter(py, || self.0.lookup(request_id, hashes, hash_bytes, wait)).map(Lookup::from)
    }

    fn set_block_compute(&self, py: Python<'_>, seconds_per_block: f64) -> PyResult<()> {
        let time = seconds("seconds_per_block", seconds_per_block)?;
        enter(py, || self.0.set_block_compute(Some(time)))
    }

    fn take(&self, py: Python<'_>, request_id: &str) -> PyResult<Option<(u64, u64)>> {
        let lease = enter(py, || self.0.take(request_id))?;
        Ok(lease.map(|lease| (lease.lease_id, lease.boot_id)))
    }

    fn forget(&self, py: Python<'_>, request_id: &str) -> PyResult<()> {
        enter(py, || self.0.forget(request_id))
    }

    fn release(&self, py: Python<'_>, lease_id: u64, boot_id: u64) -> PyResult<()> {
        enter(py, || self.0.release(LeaseRef { lease_id, boot_id }))
    }

    fn attached(&self, py: Python<'_>) -> PyResult<bool> {
        enter(py, || self.0.attached())
    }

    fn counters(&self, py: Python<'_>) -> PyResult<BTreeMap<&'static str, u64>> {
        enter(py, || self.0.counters()).map(BTreeMap::from_iter)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        enter(py, || self.0.close())
    }
}

/// The bytes of an argument that has a fixed length.
pub(crate) fn fixed<const N: usize>(argument: &str, bytes: &[u8]) -> PyResult<[u8; N]> {
    bytes.try_into().map_err(|_| {
        ConfigError::new_err(format!(
            "{argument} has {} bytes: exactly {N} are allowed",
            bytes.len()
        ))
    })
}
