//! The ssd tier in `/metrics`: what the core counts, read at each scrape.

use std::fmt;

use pegaflow_core::ssd::{FIRST_LATENCY_BOUND_NS, LATENCY_BUCKETS, LatencyCounts, Refused, SsdPathSnapshot};
use pegaflow_core::store::TierSnapshot;
use prometheus_client::encoding::NoLabelSet;
use prometheus_client::metrics::MetricType;

use super::scrape::Lines;

const STATES: [&str; 3] = ["online", "degraded", "offline"];

/// Writes the metrics of the ssd tier.
pub(super) fn encode(tier: &TierSnapshot, lines: &mut Lines<'_, '_>) -> fmt::Result {
    fetches(tier, lines)?;
    writes(tier, lines)?;
    paths(&tier.ssd.paths, lines)?;
    latency(
        "pegaflow_ssd_read_duration_seconds",
        "How long disks took for a read",
        &tier.ssd.paths,
        |path| &path.read_latency,
        lines,
    )?;
    latency(
        "pegaflow_ssd_write_duration_seconds",
        "How long disks took for a write",
        &tier.ssd.paths,
        |path| &path.write_latency,
        lines,
    )
}

fn fetches(tier: &TierSnapshot, lines: &mut Lines<'_, '_>) -> fmt::Result {
    let fetches = &tier.fetches;
    lines.gauge(
        "pegaflow_fetch_inflight_bytes",
        "Bytes that are being read from the ssd tier into the pool",
        fetches.in_flight_bytes as f64,
    )?;
    lines.gauge(
        "pegaflow_fetch_queued_bytes",
        "Bytes that wait for such a read",
        fetches.queued_bytes as f64,
    )?;
    lines.counter(
        "pegaflow_fetch_bytes",
        "Bytes of blocks fetched from the ssd tier",
        fetches.bytes,
    )?;
    let results = [
        ("fetched", fetches.blocks),
        ("no_room", fetches.no_room),
        ("busy", fetches.busy),
        ("failed", fetches.failed),
        ("corrupt", fetches.corrupt),
        ("cancelled", fetches.cancelled),
        ("declined", fetches.declined),
    ];
    lines.by(
        "result",
        "pegaflow_fetch_blocks",
        "Blocks that were found on ssd, by what became of them: declined ones are computed faster",
        MetricType::Counter,
        results.map(|(result, count)| (result.to_owned(), count)),
    )
}

fn writes(tier: &TierSnapshot, lines: &mut Lines<'_, '_>) -> fmt::Result {
    let writes = &tier.writes;
    lines.gauge(
        "pegaflow_ssd_write_queue_pending",
        "Blocks that wait to be written to the ssd tier",
        writes.queued_blocks as f64,
    )?;
    lines.gauge(
        "pegaflow_ssd_write_inflight_bytes",
        "Bytes that are pinned in the pool while they are written to the ssd tier",
        writes.in_flight_bytes as f64,
    )?;
    let results = [
        ("written", writes.blocks),
        ("evicted", writes.evicted),
        ("failed", writes.failed),
    ];
    let refused = Refused::ALL.map(Refused::name).into_iter().zip(tier.ssd.refused);
    lines.by(
        "result",
        "pegaflow_ssd_write_blocks",
        "Blocks that were to be written to the ssd tier, by what became of them",
        MetricType::Counter,
        results
            .into_iter()
            .chain(refused)
            .map(|(result, count)| (result.to_owned(), count)),
    )?;
    match tier.ssd.write_budget_left {
        Some(left) => lines.gauge(
            "pegaflow_ssd_write_budget_left_bytes",
            "Bytes that may still be written to the ssd tier today (UTC)",
            left as f64,
        ),
        None => Ok(()),
    }
}

fn paths(paths: &[SsdPathSnapshot], lines: &mut Lines<'_, '_>) -> fmt::Result {
    let states = paths.iter().flat_map(|path| {
        STATES.map(|state| {
            let is_this = path.state.name() == state;
            (
                [("path", name(path)), ("state", state.to_owned())],
                u64::from(is_this),
            )
        })
    });
    lines.family(
        "pegaflow_ssd_path_state",
        "1 for the state that a path of the ssd tier is in",
        MetricType::Gauge,
        states,
    )?;
    type Value = fn(&SsdPathSnapshot) -> u64;
    let gauges: [(&str, &str, Value); 4] = [
        (
            "pegaflow_ssd_capacity_bytes",
            "Bytes that the files of a path may take",
            |path| path.capacity,
        ),
        (
            "pegaflow_ssd_used_bytes",
            "Bytes that the files of a path take",
            |path| path.used,
        ),
        (
            "pegaflow_ssd_blocks",
            "Blocks that can be found on a path",
            |path| path.blocks,
        ),
        (
            "pegaflow_ssd_block_bytes",
            "Bytes of the pages of these blocks",
            |path| path.bytes,
        ),
    ];
    for (metric, help, value) in gauges {
        let values = paths.iter().map(|path| ([("path", name(path))], value(path)));
        lines.family(metric, help, MetricType::Gauge, values)?;
    }
    let counters: [(&str, &str, Value); 7] = [
        (
            "pegaflow_ssd_write_bytes",
            "Bytes written, all that is not pages included",
            |path| path.written_bytes,
        ),
        ("pegaflow_ssd_read_bytes", "Bytes read", |path| path.read_bytes),
        (
            "pegaflow_ssd_kept_blocks",
            "Blocks written again because they were used, when their segment was reclaimed",
            |path| path.kept_blocks,
        ),
        (
            "pegaflow_ssd_evicted_blocks",
            "Blocks that left with their segment",
            |path| path.evicted_blocks,
        ),
        (
            "pegaflow_ssd_corrupt_blocks",
            "Blocks dropped because they were not what was saved",
            |path| path.corrupt_blocks,
        ),
        (
            "pegaflow_ssd_read_failures",
            "Reads that the system failed",
            |path| path.read_errors,
        ),
        (
            "pegaflow_ssd_write_failures",
            "Writes, and waits for their safety, that the system failed",
            |path| path.write_errors,
        ),
    ];
    for (metric, help, value) in counters {
        let values = paths.iter().map(|path| ([("path", name(path))], value(path)));
        lines.family(metric, help, MetricType::Counter, values)?;
    }
    Ok(())
}

fn latency(
    metric: &str,
    help: &str,
    paths: &[SsdPathSnapshot],
    of: impl Fn(&SsdPathSnapshot) -> &LatencyCounts,
    lines: &mut Lines<'_, '_>,
) -> fmt::Result {
    let bound_s = |bucket: usize| match bucket {
        last if last + 1 == LATENCY_BUCKETS => f64::INFINITY,
        bucket => (FIRST_LATENCY_BOUND_NS << bucket) as f64 / 1e9,
    };
    let mut family = lines.descriptor(metric, help, MetricType::Histogram)?;
    for path in paths {
        let counts = of(path);
        let buckets: Vec<_> = counts
            .buckets
            .iter()
            .enumerate()
            .map(|(bucket, count)| (bound_s(bucket), *count))
            .collect();
        let labels = [("path", name(path))];
        family.encode_family(&labels)?.encode_histogram::<NoLabelSet>(
            counts.sum_ns as f64 / 1e9,
            counts.buckets.iter().sum(),
            &buckets,
            None,
        )?;
    }
    Ok(())
}

fn name(path: &SsdPathSnapshot) -> String {
    path.dir.display().to_string()
}
