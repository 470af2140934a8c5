//! The scheduler side's client: lookups and leases.

use std::path::PathBuf;
use std::time::Duration;

use bytes::Bytes;

use crate::error::Result;

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

/// What is known of a request's lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookupState {
    /// The answer holds.
    Ready,
    /// No answer yet.
    AskAgain,
    /// No daemon: count on no hits.
    Off,
}

/// A lookup's answer; everything but `state` is 0 unless it is [`LookupState::Ready`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lookup {
    /// What is known.
    pub state: LookupState,
    /// Leading blocks that are in the memory tier.
    pub memory_blocks: u32,
    /// Blocks after them that came from the ssd tier.
    pub ssd_blocks: u32,
    /// Blocks that came from other hosts.
    pub remote_blocks: u32,
    /// The lease on them; 0 when there are none.
    pub lease_id: u64,
    /// The daemon that gave it.
    pub boot_id: u64,
}

/// A lease, as a load names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseRef {
    /// The lease.
    pub lease_id: u64,
    /// The daemon that gave it.
    pub boot_id: u64,
}

/// The scheduler side's session.
#[derive(Debug)]
pub struct SchedulerClient {}

impl SchedulerClient {
    /// Starts to connect, in the background.
    pub fn new(config: SchedulerConfig) -> Result<Self> {
        let _ = config;
        Ok(Self {})
    }

    /// Asks once per request and identity (the hashes); waits at most `wait` for the answer.
    pub fn lookup(&self, request_id: &str, hashes: Bytes, hash_bytes: u32, wait: Duration) -> Result<Lookup> {
        let _ = (request_id, hashes, hash_bytes, wait);
        Ok(Lookup {
            state: LookupState::Off,
            memory_blocks: 0,
            ssd_blocks: 0,
            remote_blocks: 0,
            lease_id: 0,
            boot_id: 0,
        })
    }

    /// The lease of the request's answer, which now belongs to a load.
    pub fn take(&self, request_id: &str) -> Result<Option<LeaseRef>> {
        let _ = request_id;
        Ok(None)
    }

    /// The request is gone: its lease is released, also one in an answer that comes later.
    pub fn forget(&self, request_id: &str) -> Result<()> {
        let _ = request_id;
        Ok(())
    }

    /// Gives back a lease that was taken and will not be loaded.
    pub fn release(&self, lease: LeaseRef) -> Result<()> {
        let _ = lease;
        Ok(())
    }

    /// Whether there is a session.
    pub fn attached(&self) -> Result<bool> {
        Ok(false)
    }

    /// Counts by name.
    pub fn counters(&self) -> Result<Vec<(&'static str, u64)>> {
        Ok(Vec::new())
    }

    /// Ends the session; the client then answers as without a daemon.
    pub fn close(&self) -> Result<()> {
        Ok(())
    }
}
