//! The engines that are attached, in `/metrics`. Their labels are bounded; the oldest engines have their own.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::metrics::MetricType;

use super::blocks::bounded;
use super::scrape::Lines;
use crate::session::{EngineSnapshot, TransferCounts};

/// What is shown for one label.
#[derive(Debug, Default)]
struct Row {
    saves: TransferCounts,
    loads: TransferCounts,
    mapped_bytes: u64,
    last_call_ms: u64,
    attached_ms: u64,
}

/// Writes the metrics of each engine.
pub(super) fn encode(engines: &[EngineSnapshot], lines: &mut Lines<'_, '_>) -> fmt::Result {
    let mut rows: BTreeMap<String, Row> = BTreeMap::new();
    for engine in engines {
        let row: &mut Row = bounded(&mut rows, engine.engine_id.clone());
        row.saves.add(&engine.saves);
        row.loads.add(&engine.loads);
        row.mapped_bytes += engine.mapped_bytes;
        row.last_call_ms = row.last_call_ms.max((engine.last_call_s * 1e3) as u64);
        row.attached_ms = row.attached_ms.max((engine.attached_s * 1e3) as u64);
    }
    type Of = fn(&Row) -> u64;
    let counters: [(&str, &str, Of); 8] = [
        (
            "pegaflow_engine_saves",
            "Saves of an attached engine that ended well",
            |row| row.saves.transfers,
        ),
        (
            "pegaflow_engine_save_failures",
            "Saves of an attached engine that failed",
            |row| row.saves.failures,
        ),
        (
            "pegaflow_engine_save_blocks",
            "Blocks copied from an attached engine",
            |row| row.saves.blocks,
        ),
        (
            "pegaflow_engine_save_bytes",
            "Bytes copied from an attached engine",
            |row| row.saves.bytes,
        ),
        (
            "pegaflow_engine_loads",
            "Loads of an attached engine that ended well",
            |row| row.loads.transfers,
        ),
        (
            "pegaflow_engine_load_failures",
            "Loads of an attached engine that failed",
            |row| row.loads.failures,
        ),
        (
            "pegaflow_engine_load_blocks",
            "Blocks copied to an attached engine",
            |row| row.loads.blocks,
        ),
        (
            "pegaflow_engine_load_bytes",
            "Bytes copied to an attached engine",
            |row| row.loads.bytes,
        ),
    ];
    for (name, help, of) in counters {
        let values = rows.iter().map(|(engine, row)| (engine.clone(), of(row)));
        lines.by("engine", name, help, MetricType::Counter, values)?;
    }
    let mapped = rows
        .iter()
        .map(|(engine, row)| (engine.clone(), row.mapped_bytes));
    lines.by(
        "engine",
        "pegaflow_engine_mapped_bytes",
        "Bytes of an engine's memory that saves and loads reach",
        MetricType::Gauge,
        mapped,
    )?;
    let ages: [(&str, &str, Of); 2] = [
        (
            "pegaflow_engine_last_call_age_seconds",
            "Time since an engine attached or called last",
            |row| row.last_call_ms,
        ),
        (
            "pegaflow_engine_attached_seconds",
            "Time since an engine attached",
            |row| row.attached_ms,
        ),
    ];
    for (name, help, of) in ages {
        let seconds = rows
            .iter()
            .map(|(engine, row)| (engine.clone(), of(row) as f64 / 1e3));
        lines.gauges("engine", name, help, seconds)?;
    }
    Ok(())
}
