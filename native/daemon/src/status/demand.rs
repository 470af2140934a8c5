//! What lookups asked for and what eviction took, in the status document.

use pegaflow_core::demand::{Ceiling, DemandSnapshot, GHOST_FACTORS, MissReason};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(super) struct Demand {
    missed: Vec<Missed>,
    ghost_hits: Vec<GhostHits>,
    evicted: Vec<Evicted>,
    ceilings: Vec<Window>,
}

#[derive(Debug, Serialize)]
struct Missed {
    reason: &'static str,
    blocks: u64,
}

#[derive(Debug, Serialize)]
struct GhostHits {
    pool_times: f64,
    blocks: u64,
}

#[derive(Debug, Serialize)]
struct Evicted {
    reason: &'static str,
    never_found_blocks: u64,
    found_blocks: u64,
}

#[derive(Debug, Serialize)]
struct Window {
    window_s: u64,
    requested_blocks: u64,
    distinct_blocks: u64,
    hit_percent: Option<f64>,
}

impl Demand {
    pub(super) fn of(demand: &DemandSnapshot) -> Self {
        let missed = MissReason::all().map(|reason| Missed {
            reason: reason.name(),
            blocks: demand.missed.of(reason),
        });
        let ghosts = GHOST_FACTORS.into_iter().zip(demand.missed.ghost_hits);
        let evicted = demand.evicted.iter().map(|(why, [never, found])| Evicted {
            reason: why.name(),
            never_found_blocks: *never,
            found_blocks: *found,
        });
        Self {
            missed: missed.collect(),
            ghost_hits: ghosts
                .map(|(tenths, blocks)| GhostHits {
                    pool_times: tenths as f64 / 10.0,
                    blocks,
                })
                .collect(),
            evicted: evicted.collect(),
            ceilings: demand.ceilings.iter().map(Window::of).collect(),
        }
    }
}

impl Window {
    fn of(ceiling: &Ceiling) -> Self {
        let percent = |part: f64| (part * 10_000.0).round() / 100.0;
        Self {
            window_s: ceiling.window.as_secs(),
            requested_blocks: ceiling.requested,
            distinct_blocks: ceiling.distinct,
            hit_percent: ceiling.part().map(percent),
        }
    }
}
