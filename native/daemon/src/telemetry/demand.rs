//! What lookups asked for and what eviction took, in `/metrics`: what the core counts, read at each scrape.

use std::fmt;

use pegaflow_core::demand::{AGE_BOUNDS_S, AgeCounts, Ceiling, DemandSnapshot, GHOST_FACTORS, MissReason};
use prometheus_client::metrics::MetricType;

use super::scrape::Lines;

/// Writes the metrics of what was asked for.
pub(super) fn encode(demand: &DemandSnapshot, lines: &mut Lines<'_, '_>) -> fmt::Result {
    let missed = MissReason::all().map(|reason| (reason.name().to_owned(), demand.missed.of(reason)));
    lines.by(
        "reason",
        "pegaflow_cache_missed_blocks",
        "Blocks that lookups missed: new ones, those that left memory by why they did, those that are cached behind one that is \
         not, and those that are on ssd and were not fetched",
        MetricType::Counter,
        missed,
    )?;
    let ghosts = GHOST_FACTORS.into_iter().zip(demand.missed.ghost_hits);
    lines.by(
        "pool",
        "pegaflow_cache_ghost_hits",
        "Blocks that lookups missed and that a pool of so many times the size would have had",
        MetricType::Counter,
        ghosts.map(|(tenths, blocks)| (times(tenths), blocks)),
    )?;
    let evicted = demand.evicted.iter().flat_map(|(why, [never, found])| {
        [("never", never), ("found", found)].map(|(used, count)| {
            let labels = [("reason", why.name().to_owned()), ("use", used.to_owned())];
            (labels, *count)
        })
    });
    lines.family(
        "pegaflow_cache_evicted_blocks",
        "Blocks evicted from memory, by reason and by whether a lookup had found them",
        MetricType::Counter,
        evicted,
    )?;
    ages(
        "pegaflow_cache_residence_seconds",
        "How long evicted blocks had been in memory",
        &demand.residence,
        lines,
    )?;
    ages(
        "pegaflow_cache_idle_seconds",
        "How long evicted blocks had not been used",
        &demand.idle,
        lines,
    )?;
    ceilings(demand, lines)
}

/// How a size is called that has so many tenths of the pool's.
fn times(tenths: u64) -> String {
    format!("{}x", tenths as f64 / 10.0)
}

fn ceilings(demand: &DemandSnapshot, lines: &mut Lines<'_, '_>) -> fmt::Result {
    let window = |of: &Ceiling| of.window.as_secs().to_string();
    let ceilings = || demand.ceilings.iter();
    lines.by(
        "window_seconds",
        "pegaflow_cache_window_requested_blocks",
        "Blocks that lookups asked for in the last seconds",
        MetricType::Gauge,
        ceilings().map(|of| (window(of), of.requested)),
    )?;
    lines.by(
        "window_seconds",
        "pegaflow_cache_window_distinct_blocks",
        "Different blocks among them, about",
        MetricType::Gauge,
        ceilings().map(|of| (window(of), of.distinct)),
    )?;
    lines.gauges(
        "window_seconds",
        "pegaflow_cache_hit_ceiling_ratio",
        "The part of the blocks asked for in the last seconds that an endless cache would have hit, about",
        ceilings().map(|of| (window(of), of.part().unwrap_or_default())),
    )
}

fn ages(name: &str, help: &str, ages: &AgeCounts, lines: &mut Lines<'_, '_>) -> fmt::Result {
    let bounds = AGE_BOUNDS_S.into_iter().chain([f64::INFINITY]);
    let buckets: Vec<_> = bounds.zip(ages.buckets).collect();
    lines.histogram(name, help, ages.sum.as_secs_f64(), &buckets)
}
