//! Which way of copying is the faster one for a layout.

use std::time::Duration;

use super::memory::Opened;
use crate::cuda::{BUFFER_BYTES, CopyWay, Direction};
use crate::error::Result;
use crate::layout::BlockLayout;

/// Copies of each way, of which the fastest counts.
const ROUNDS: usize = 4;
/// Runs in one of them.
const RUNS_MAX: usize = 256;
/// How much faster plain copies have to be to be chosen: batch calls leave the processor more time.
const PLAIN_GAIN: f64 = 1.1;

/// The way for a layout, and the bytes per second of those that were measured, which are none where there is no choice.
///
/// It reads blocks of the engine, a millisecond long, and writes none.
pub(super) fn choose(opened: &Opened, layout: &BlockLayout) -> Result<(CopyWay, Vec<(CopyWay, f64)>)> {
    let device = &opened.device;
    if !device.gpu.has_batch_calls() {
        return Ok((CopyWay::Plain, Vec::new()));
    }
    if let Some(way) = device.copy_way {
        return Ok((way, Vec::new()));
    }
    let runs = some_runs(layout)?;
    let bytes: u64 = runs.iter().map(|(_, length)| length).sum();
    // None for a way that the driver refuses for these runs.
    let rate = |way| -> Result<Option<f64>> {
        let mut best = Duration::MAX;
        for _ in 0..ROUNDS {
            let streams = opened.streams(Direction::ToHost);
            let mut staging = device.staging(Direction::ToHost).lock();
            let (took, used) = staging.time_read(streams, way, &runs)?;
            if used != way {
                return Ok(None);
            }
            best = best.min(took);
        }
        Ok(Some(bytes as f64 / best.as_secs_f64().max(1e-9)))
    };
    let plain = rate(CopyWay::Plain)?.unwrap_or_default();
    let Some(batch) = rate(CopyWay::Batch)? else {
        return Ok((CopyWay::Plain, vec![(CopyWay::Plain, plain)]));
    };
    let way = if plain > batch * PLAIN_GAIN {
        CopyWay::Plain
    } else {
        CopyWay::Batch
    };
    Ok((way, vec![(CopyWay::Batch, batch), (CopyWay::Plain, plain)]))
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
