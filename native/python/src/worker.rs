//! `WorkerClient`: one worker's session.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use pegaflow_client::WorkerConfig;
use pyo3::prelude::*;

use crate::enter::enter;
use crate::layout::{EngineLayout, StreamPoint};
use crate::scheduler::fixed;
use crate::transfer_end::TransferEnd;

/// One worker's session: registration and transfers.
#[pyclass(module = "pegaflow._native", frozen)]
pub(crate) struct WorkerClient(pegaflow_client::WorkerClient);

#[pymethods]
impl WorkerClient {
    #[new]
    fn new(
        py: Python<'_>,
        socket: PathBuf,
        engine_id: String,
        rank: u32,
        shard: u32,
        layout: &EngineLayout,
    ) -> PyResult<Self> {
        enter(py, || {
            pegaflow_client::WorkerClient::new(WorkerConfig {
                socket,
                engine_id,
                rank,
                shard,
                layout: layout.0.clone(),
            })
        })
        .map(Self)
    }

    fn identify(&self, py: Python<'_>, engine_key: &[u8], namespace: &[u8]) -> PyResult<()> {
        let (engine_key, namespace) = (fixed("engine_key", engine_key)?, fixed("namespace", namespace)?);
        enter(py, || self.0.identify(engine_key, namespace))
    }

    fn mark(&self, py: Python<'_>, stream: u64) -> PyResult<Option<StreamPoint>> {
        Ok(enter(py, || self.0.mark(stream))?.map(StreamPoint))
    }

    #[pyo3(signature = (request_id, hashes, block_ids, point = None, after = None))]
    fn save(
        &self,
        py: Python<'_>,
        request_id: &str,
        hashes: &[u8],
        block_ids: Vec<u32>,
        point: Option<&StreamPoint>,
        after: Option<&[u8]>,
    ) -> PyResult<Option<u64>> {
        let (hashes, after) = (
            Bytes::copy_from_slice(hashes),
            Bytes::copy_from_slice(after.unwrap_or_default()),
        );
        let point = point.map(|point| Arc::clone(&point.0));
        enter(py, || self.0.save(request_id, hashes, after, block_ids, point))
    }

    #[pyo3(signature = (request_id, lease_id, boot_id, first, block_ids, point = None))]
    #[expect(clippy::too_many_arguments, reason = "Python's, which names them")]
    fn load(
        &self,
        py: Python<'_>,
        request_id: &str,
        lease_id: u64,
        boot_id: u64,
        first: u32,
        block_ids: Vec<u32>,
        point: Option<&StreamPoint>,
    ) -> PyResult<u64> {
        let point = point.map(|point| Arc::clone(&point.0));
        enter(py, || {
            self.0
                .load(request_id, lease_id, boot_id, first, block_ids, point)
        })
    }

    fn revoke(&self, py: Python<'_>, transfer_id: u64) -> PyResult<bool> {
        enter(py, || self.0.revoke(transfer_id))
    }

    fn poll(&self, py: Python<'_>) -> PyResult<Vec<TransferEnd>> {
        let ended = enter(py, || self.0.poll())?;
        Ok(ended.into_iter().map(TransferEnd::from).collect())
    }

    fn in_flight(&self, py: Python<'_>) -> PyResult<usize> {
        enter(py, || self.0.in_flight())
    }

    fn attached(&self, py: Python<'_>) -> PyResult<bool> {
        enter(py, || self.0.attached())
    }

    fn last_error(&self, py: Python<'_>) -> PyResult<Option<String>> {
        enter(py, || self.0.last_error())
    }

    fn counters(&self, py: Python<'_>) -> PyResult<BTreeMap<&'static str, u64>> {
        enter(py, || self.0.counters()).map(BTreeMap::from_iter)
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        enter(py, || self.0.close())
    }
}
