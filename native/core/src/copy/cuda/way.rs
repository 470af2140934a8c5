//! Which way of copying is the faster one for a layout.

use std::time::Duration;

use super::memory::Opened;
use crate::cuda::{BUFFER_BYTES, CopyStrategy, CopyWay, Direction};
use crate::error::Result;
use crate::layout::BlockLayout;

/// Copies of each way, of which the fastest counts.
const ROUNDS: usize = 4;
/// Runs in one of them.
const RUNS_MAX: usize = 256;
/// How much faster plain copies have to be to be chosen: batch calls leave the processor more time.
const PLAIN_GAIN: f64 = 1.1;
/// The part of a ring's rate below which one copy of blocks as they are has to be for the ring to be used: several copies at
/// once come near the link's limit above it, and a ring takes some of the model's time.
const RING_LOSS: f64 = 0.5;

/// What was chosen for a layout.
pub(super) struct Choice {
    pub(super) way: CopyWay,
    /// The bytes per second of the ways that were measured, which are none where there is no choice.
    pub(super) measured: Vec<(CopyWay, f64)>,
    /// The ring's bytes per second, where it is used.
    pub(super) ring_bytes_s: Option<f64>,
}

/// The way for a layout, of which the engine offers a ring or not.
///
/// It reads blocks of the engine, a millisecond long, and writes none.
pub(super) fn choose(opened: &Opened, layout: &BlockLayout, ring: Option<&BlockLayout>) -> Result<Choice> {
    let (way, measured) = choose_way(opened, layout)?;
    let best = measured.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let ring = ring.filter(|_| opened.device.strategy.ring_below() > 0);
    let ring_rate = match ring {
        Some(ring) => rate(opened, way, &some_runs(ring)?)?,
        None => None,
    };
    let is_set = opened.device.strategy == CopyStrategy::Gather;
    let ring_bytes_s = ring_rate.filter(|rate| is_set || best < rate * RING_LOSS);
    Ok(Choice {
        way,
        measured,
        ring_bytes_s,
    })
}

fn choose_way(opened: &Opened, layout: &BlockLayout) -> Result<(CopyWay, Vec<(CopyWay, f64)>)> {
    let strategy = opened.device.strategy;
    if strategy == CopyStrategy::Plain || !opened.device.gpu.has_batch_calls() {
        return Ok((CopyWay::Plain, Vec::new()));
    }
    if strategy == CopyStrategy::Batch {
        return Ok((CopyWay::Batch, Vec::new()));
    }
    let runs = some_runs(layout)?;
    let plain = rate(opened, CopyWay::Plain, &runs)?.unwrap_or_default();
    let Some(batch) = rate(opened, CopyWay::Batch, &runs)? else {
        return Ok((CopyWay::Plain, vec![(CopyWay::Plain, plain)]));
    };
    let way = if plain > batch * PLAIN_GAIN {
        CopyWay::Plain
    } else {
        CopyWay::Batch
    };
    Ok((way, vec![(CopyWay::Batch, batch), (CopyWay::Plain, plain)]))
}

/// Bytes per second of a way; None for one that the driver refuses for these runs.
fn rate(opened: &Opened, way: CopyWay, runs: &[(u64, u64)]) -> Result<Option<f64>> {
    let bytes: u64 = runs.iter().map(|(_, length)| length).sum();
    let mut best = Duration::MAX;
    for _ in 0..ROUNDS {
        let streams = opened.streams(Direction::ToHost);
        let mut staging = opened.device.staging(Direction::ToHost).lock();
        let (took, used) = staging.time_read(streams, way, runs)?;
        if used != way {
            return Ok(None);
        }
        best = best.min(took);
    }
    Ok(Some(bytes as f64 / best.as_secs_f64().max(1e-9)))
}

/// Runs of the first blocks, as many as fit the buffer.
fn some_runs(layout: &BlockLayout) -> Result<Vec<(u64, u64)>> {
    let (mut runs, mut room) = (Vec::new(), BUFFER_BYTES as u64);
    for block in 0..layout.num_blocks() {
        for run in layout.copy_runs(block)? {
            let length = run.length.min(room);
            if length == 0 || runs.len() == RUNS_MAX {
                return Ok(runs);
            }
            room -= length;
            runs.push((run.address, length));
        }
    }
    Ok(runs)
}
