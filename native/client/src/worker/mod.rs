//! A worker's client: registration and transfers.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;

use crate::error::Result;

/// What a worker is.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// The daemon's socket.
    pub socket: PathBuf,
    /// The engine's id, for operators.
    pub engine_id: String,
    /// Position among the engine's workers.
    pub rank: u32,
    /// Which page of a block this worker holds.
    pub shard: u32,
    /// Where its blocks are.
    pub layout: EngineLayout,
}

/// The memory of a worker's blocks.
#[derive(Debug, Clone)]
pub struct EngineLayout {}

impl EngineLayout {
    /// From the JSON that `pegaflow._native.WorkerClient` documents.
    pub fn from_json(json: &str) -> Result<Self> {
        let _ = json;
        Ok(Self {})
    }
}

/// Which way a transfer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransferKind {
    /// Engine to cache.
    Save,
    /// Cache to engine.
    Load,
}

/// The end of one transfer.
#[derive(Debug, Clone, PartialEq)]
pub struct TransferEnd {
    /// The transfer.
    pub transfer_id: u64,
    /// The request that it was for.
    pub request_id: String,
    /// Which way it went.
    pub kind: TransferKind,
    /// Load: all bytes are in place. Save: the answer came and nothing was revoked.
    pub ok: bool,
    /// Blocks that it named.
    pub blocks: u32,
    /// Bytes that the daemon copied.
    pub bytes: u64,
    /// From its start to its end.
    pub elapsed: Duration,
    /// Why, where it is not ok.
    pub message: String,
}

/// One worker's session.
#[derive(Debug)]
pub struct WorkerClient {}

impl WorkerClient {
    /// Does nothing before [`identify`](Self::identify).
    pub fn new(config: WorkerConfig) -> Result<Self> {
        let _ = config;
        Ok(Self {})
    }

    /// Tells which engine this worker is of; the first call starts to connect. The same values again change nothing.
    pub fn identify(&self, engine_key: [u8; 16], namespace: [u8; 32]) -> Result<()> {
        let _ = (engine_key, namespace);
        Ok(())
    }

    /// Starts a save; `None` when there is no daemon to save to: nothing to wait for.
    pub fn save(&self, request_id: &str, hashes: Bytes, block_ids: Vec<u32>) -> Result<Option<u64>> {
        let _ = (request_id, hashes, block_ids);
        Ok(None)
    }

    /// Starts a load. One that cannot start ends as failed at the next [`poll`](Self::poll).
    pub fn load(
        &self,
        request_id: &str,
        lease_id: u64,
        boot_id: u64,
        first: u32,
        block_ids: Vec<u32>,
    ) -> Result<u64> {
        let _ = (request_id, lease_id, boot_id, first, block_ids);
        Ok(0)
    }

    /// Takes the grant back. True: the blocks are free now. False: a copy is under way, its end comes in [`poll`](Self::poll).
    pub fn revoke(&self, transfer_id: u64) -> Result<bool> {
        let _ = transfer_id;
        Ok(true)
    }

    /// The transfers that ended since the last call.
    pub fn poll(&self) -> Result<Vec<TransferEnd>> {
        Ok(Vec::new())
    }

    /// Transfers that have not ended.
    pub fn in_flight(&self) -> Result<usize> {
        Ok(0)
    }

    /// Whether the worker is registered.
    pub fn attached(&self) -> Result<bool> {
        Ok(false)
    }

    /// Why the worker is not registered, when the daemon refused it.
    pub fn last_error(&self) -> Result<Option<String>> {
        Ok(None)
    }

    /// Counts by name.
    pub fn counters(&self) -> Result<Vec<(&'static str, u64)>> {
        Ok(Vec::new())
    }

    /// Ends the session. Grants of transfers under way are revoked first.
    pub fn close(&self) -> Result<()> {
        Ok(())
    }
}
