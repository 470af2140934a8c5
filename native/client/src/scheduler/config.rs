//! What a scheduler side is.

use std::path::PathBuf;

use bytes::Bytes;
use pegaflow_proto::PROTOCOL_VERSION;
use pegaflow_proto::v1::{AttachRequest, SchedulerRole, attach_request};

/// What a scheduler side is.
#[derive(Debug, Clone)]
pub struct SchedulerConfig {
    /// The daemon's socket.
    pub socket: PathBuf,
    /// Random bytes that join the processes of one engine.
    pub engine_key: [u8; 16],
    /// The engine's id, for operators.
    pub engine_id: String,
    /// SHA-256 of model, layout and parallel sizes.
    pub namespace: [u8; 32],
    /// The model's name, for operators.
    pub model: String,
    /// How many workers register and load.
    pub workers: u32,
    /// Pages that make up one block.
    pub shards: u32,
}

impl SchedulerConfig {
    pub(super) fn attach_request(&self) -> AttachRequest {
        AttachRequest {
            version: Some(PROTOCOL_VERSION),
            engine_key: Bytes::copy_from_slice(&self.engine_key),
            engine_id: self.engine_id.clone(),
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            role: Some(attach_request::Role::Scheduler(SchedulerRole {
                namespace: Bytes::copy_from_slice(&self.namespace),
                model: self.model.clone(),
                workers: self.workers,
                shards: self.shards,
            })),
        }
    }
}
