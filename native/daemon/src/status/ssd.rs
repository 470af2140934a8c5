//! The ssd tier in the status document.

use std::path::PathBuf;

use pegaflow_core::ssd::SsdPathSnapshot;
use pegaflow_core::store::{TierSnapshot, WarmProgress, WarmState};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(super) struct Ssd {
    blocks: u64,
    bytes: u64,
    /// Bytes accepted and not on a disk yet.
    queued_write_bytes: u64,
    /// Bytes that reads wait for.
    queued_read_bytes: u64,
    read_bytes_per_s: f64,
    write_bytes_per_s: f64,
    /// What may be written in a day; None for no limit.
    write_budget_bytes: Option<u64>,
    write_budget_left_bytes: Option<u64>,
    writes: Writes,
    fetches: Fetches,
    warming: Option<Warming>,
    /// Sentences on file systems that are too small.
    shortages: Vec<String>,
    paths: Vec<SsdPath>,
}

#[derive(Debug, Serialize)]
struct Writes {
    queued_blocks: u64,
    in_flight_bytes: u64,
    blocks: u64,
    bytes: u64,
    evicted_blocks: u64,
    failed_blocks: u64,
}

#[derive(Debug, Serialize)]
struct Fetches {
    lookups: u64,
    queued_bytes: u64,
    in_flight_bytes: u64,
    blocks: u64,
    bytes: u64,
    no_room_blocks: u64,
    busy_blocks: u64,
    failed_blocks: u64,
    corrupt_blocks: u64,
    cancelled_blocks: u64,
    declined_blocks: u64,
}

#[derive(Debug, Serialize)]
struct Warming {
    state: &'static str,
    planned_blocks: u64,
    planned_bytes: u64,
    fetched_blocks: u64,
    fetched_bytes: u64,
    elapsed_s: f64,
}

#[derive(Debug, Serialize)]
struct SsdPath {
    path: PathBuf,
    state: &'static str,
    reason: Option<String>,
    engine: &'static str,
    direct: bool,
    capacity_bytes: u64,
    used_bytes: u64,
    blocks: u64,
    bytes: u64,
    written_bytes: u64,
    read_bytes: u64,
    evicted_blocks: u64,
    corrupt_blocks: u64,
    read_errors: u64,
    write_errors: u64,
    recovered_blocks: u64,
    recovery_s: f64,
}

impl Ssd {
    /// `lookups` wait for it; `warming` is the last one.
    pub(super) fn of(
        tier: TierSnapshot,
        lookups: usize,
        warming: Option<WarmProgress>,
        shortages: Vec<String>,
    ) -> Self {
        let (writes, fetches) = (&tier.writes, &tier.fetches);
        Self {
            blocks: tier.ssd.blocks,
            bytes: tier.ssd.bytes,
            queued_write_bytes: tier.ssd.queued_write_bytes,
            queued_read_bytes: tier.ssd.queued_read_bytes,
            read_bytes_per_s: tier.rate.read,
            write_bytes_per_s: tier.rate.write,
            write_budget_bytes: tier.ssd.write_budget,
            write_budget_left_bytes: tier.ssd.write_budget_left,
            writes: Writes {
                queued_blocks: writes.queued_blocks,
                in_flight_bytes: writes.in_flight_bytes,
                blocks: writes.blocks,
                bytes: writes.bytes,
                evicted_blocks: writes.evicted,
                failed_blocks: writes.failed,
            },
            fetches: Fetches {
                lookups: lookups as u64,
                queued_bytes: fetches.queued_bytes,
                in_flight_bytes: fetches.in_flight_bytes,
                blocks: fetches.blocks,
                bytes: fetches.bytes,
                no_room_blocks: fetches.no_room,
                busy_blocks: fetches.busy,
                failed_blocks: fetches.failed,
                corrupt_blocks: fetches.corrupt,
                cancelled_blocks: fetches.cancelled,
                declined_blocks: fetches.declined,
            },
            warming: warming.map(Warming::of),
            shortages,
            paths: tier.ssd.paths.into_iter().map(SsdPath::of).collect(),
        }
    }
}

impl Warming {
    fn of(progress: WarmProgress) -> Self {
        Self {
            state: match progress.state {
                WarmState::Running => "running",
                WarmState::Done => "done",
                WarmState::Cancelled => "cancelled",
            },
            planned_blocks: progress.planned_blocks,
            planned_bytes: progress.planned_bytes,
            fetched_blocks: progress.fetched_blocks,
            fetched_bytes: progress.fetched_bytes,
            elapsed_s: progress.elapsed.as_secs_f64(),
        }
    }
}

impl SsdPath {
    fn of(path: SsdPathSnapshot) -> Self {
        Self {
            state: path.state.name(),
            reason: path.state.reason().map(ToOwned::to_owned),
            engine: path.engine.name(),
            direct: path.is_direct,
            capacity_bytes: path.capacity,
            used_bytes: path.used,
            blocks: path.blocks,
            bytes: path.bytes,
            written_bytes: path.written_bytes,
            read_bytes: path.read_bytes,
            evicted_blocks: path.evicted_blocks,
            corrupt_blocks: path.corrupt_blocks,
            read_errors: path.read_errors,
            write_errors: path.write_errors,
            recovered_blocks: path.recovery.blocks,
            recovery_s: path.recovery.duration.as_secs_f64(),
            path: path.dir,
        }
    }
}
