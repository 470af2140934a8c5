//! The memory tier in the status document.

use std::path::PathBuf;

use pegaflow_core::pool::NodeBytes;
use pegaflow_core::store::{ChecksumSnapshot, StoreSnapshot, TakeOver};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(super) struct Pool {
    kind: &'static str,
    path: Option<PathBuf>,
    bytes: u64,
    /// Whether it was given another size since the start.
    is_resized: bool,
    ready_bytes: u64,
    used_bytes: u64,
    largest_free_bytes: u64,
    policy: &'static str,
    in_flight_pages: u64,
    partial_blocks: u64,
    pinned_blocks: u64,
    no_space: u64,
    fallback: Option<String>,
    /// Empty where the kernel does not tell.
    nodes: Vec<Node>,
}

/// The pool's bytes on one NUMA node.
#[derive(Debug, Serialize)]
struct Node {
    node: u32,
    bytes: u64,
}

/// What an ended daemon's pool gave to this one.
#[derive(Debug, Serialize)]
pub(super) struct TakenOver {
    blocks: u64,
    bytes: u64,
    unsealed_pages: u64,
    pages_without_checksum: u64,
    bad_records: u64,
    incomplete_pages: u64,
    duration_s: f64,
}

/// What became of checksums since the start.
#[derive(Debug, Serialize)]
pub(super) struct Checksums {
    pending_pages: u64,
    made_pages: u64,
    verified_pages: u64,
    verified_bytes: u64,
    verify_s: f64,
    scrubbed_pages: u64,
    scrub_rounds: u64,
    corrupt_blocks: u64,
}

impl Pool {
    pub(super) fn of(store: StoreSnapshot, is_resized: bool, nodes: Vec<NodeBytes>) -> Self {
        let nodes = nodes.into_iter();
        Self {
            is_resized,
            nodes: nodes
                .map(|NodeBytes { node, bytes }| Node { node, bytes })
                .collect(),
            kind: store.pool.kind.name(),
            path: store.pool.path,
            bytes: store.pool.bytes,
            ready_bytes: store.pool.ready_bytes,
            used_bytes: store.pool.used_bytes,
            largest_free_bytes: store.pool.largest_free_bytes,
            policy: store.policy.name(),
            in_flight_pages: store.in_flight_pages,
            partial_blocks: store.partial_blocks,
            pinned_blocks: store.pinned_blocks,
            no_space: store.no_space,
            fallback: store.pool.fallback,
        }
    }
}

impl TakenOver {
    pub(super) fn of(taken: TakeOver) -> Self {
        Self {
            blocks: taken.blocks,
            bytes: taken.bytes,
            unsealed_pages: taken.unsealed_pages,
            pages_without_checksum: taken.pages_without_checksum,
            bad_records: taken.bad_records,
            incomplete_pages: taken.incomplete_pages,
            duration_s: taken.duration.as_secs_f64(),
        }
    }
}

impl Checksums {
    pub(super) fn of(checksums: &ChecksumSnapshot) -> Self {
        Self {
            pending_pages: checksums.pending_pages,
            made_pages: checksums.made,
            verified_pages: checksums.verified_pages,
            verified_bytes: checksums.verified_bytes,
            verify_s: checksums.verify_time.as_secs_f64(),
            scrubbed_pages: checksums.scrubbed_pages,
            scrub_rounds: checksums.scrub_rounds,
            corrupt_blocks: checksums.corrupt_blocks,
        }
    }
}
