//! The text of `/metrics`: the daemon's counters, and numbers read from the store, the leases and the engines.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Instant, UNIX_EPOCH};

use pegaflow_core::store::{SpaceSnapshot, StoreSnapshot};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::prometheus_text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::blocks::entry;
use super::{Restore, demand, engines, overview, ssd};
use crate::boot::VERSION;
use crate::daemon::Daemon;
use crate::recording::RecordingSnapshot;
use crate::status::WhatIf;

/// Everything that `/metrics` shows.
#[derive(Debug)]
pub(crate) struct Exposition {
    registry: Registry,
}

impl Exposition {
    /// The metrics of this daemon.
    pub(crate) fn new(daemon: &Arc<Daemon>) -> Self {
        let mut registry = Registry::default();
        let build = vec![
            ("version", VERSION.to_owned()),
            ("boot_id", daemon.boot.id_text()),
        ];
        registry.register(
            "pegaflow_build",
            "The software's version, and what tells this start from others",
            Info::new(build),
        );
        daemon.metrics.register(&mut registry);
        if daemon.config.otlp_endpoint.is_some() {
            daemon.spans.register(&mut registry);
        }
        registry.register_collector(Box::new(Scrape(Arc::clone(daemon))));
        Self { registry }
    }

    /// The text in Prometheus' form 0.0.4.
    pub(crate) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Reads numbers that other parts keep.
#[derive(Debug)]
struct Scrape(Arc<Daemon>);

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut lines = Lines(&mut encoder);
        self.process(&mut lines)?;
        overview::encode(&self.0, &mut lines)?;
        let store = self.0.store.snapshot();
        Self::store(&store, &mut lines)?;
        self.nodes(&mut lines)?;
        Self::checksums(&store, &mut lines)?;
        if let Some(tier) = &store.tier {
            ssd::encode(tier, &mut lines)?;
            lines.gauge(
                "pegaflow_fetch_lookups",
                "Lookups that wait for blocks from the ssd tier, between two calls that ask for them",
                self.0.pending.count() as f64,
            )?;
        }
        lines.gauge(
            "pegaflow_operations_running",
            "Operations on tiers and namespaces that run now",
            self.0.operations.count() as f64,
        )?;
        self.leases(&mut lines)?;
        demand::encode(&self.0.store.demand(), &mut lines)?;
        self.what_if(&mut lines)?;
        Restore::of(&self.0).encode(&mut lines)?;
        if let Some(recording) = self.0.recording.snapshot() {
            Self::recording(&recording, &mut lines)?;
        }
        self.engines(&mut lines)?;
        engines::encode(&self.0.sessions.snapshot(), &mut lines)
    }
}

impl Scrape {
    fn process(&self, lines: &mut Lines<'_, '_>) -> fmt::Result {
        let started = self
            .0
            .boot
            .started_at
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        lines.gauge(
            "pegaflow_start_time_seconds",
            "When the daemon started, in Unix time",
            started.as_secs_f64(),
        )?;
        lines.gauge(
            "pegaflow_uptime_seconds",
            "Age of the daemon",
            self.0.boot.started.elapsed().as_secs_f64(),
        )
    }

    fn store(store: &StoreSnapshot, lines: &mut Lines<'_, '_>) -> fmt::Result {
        let pool = &store.pool;
        lines.gauge(
            "pegaflow_pool_capacity_bytes",
            "Bytes of the memory tier's pool",
            pool.bytes as f64,
        )?;
        lines.gauge(
            "pegaflow_pool_ready_bytes",
            "Pool bytes that can hold pages by now",
            pool.ready_bytes as f64,
        )?;
        lines.gauge(
            "pegaflow_pool_used_bytes",
            "Pool bytes of pages that hold something",
            pool.used_bytes as f64,
        )?;
        lines.gauge(
            "pegaflow_pool_largest_free_bytes",
            "Pool bytes of the largest piece that pages of any size can have",
            pool.largest_free_bytes as f64,
        )?;
        lines.gauge(
            "pegaflow_pool_degraded",
            "1 when the pool is not what was asked for",
            f64::from(u8::from(pool.degraded.is_some())),
        )?;
        lines.counter(
            "pegaflow_pool_alloc_failures",
            "Reservations that found no room",
            store.no_space,
        )?;
        lines.gauge(
            "pegaflow_inflight_pages",
            "Pages that are being filled",
            store.in_flight_pages as f64,
        )?;
        lines.gauge(
            "pegaflow_partial_blocks",
            "Blocks that lack some shards",
            store.partial_blocks as f64,
        )?;
        lines.counter(
            "pegaflow_inflight_gc_cleaned",
            "Blocks dropped because their missing shards did not come in time",
            store.partial_blocks_dropped,
        )?;
        lines.gauge(
            "pegaflow_cache_pinned_blocks",
            "Blocks that cannot be evicted now",
            store.pinned_blocks as f64,
        )?;
        type Of = fn(&SpaceSnapshot) -> u64;
        let spaces: [(&str, &str, MetricType, Of); 6] = [
            (
                "pegaflow_cache_resident_blocks",
                "Blocks cached in memory",
                MetricType::Gauge,
                |space| space.blocks,
            ),
            (
                "pegaflow_cache_resident_bytes",
                "Bytes cached in memory",
                MetricType::Gauge,
                |space| space.bytes,
            ),
            (
                "pegaflow_cache_block_hits",
                "Blocks that lookups found in memory",
                MetricType::Counter,
                |space| space.hits,
            ),
            (
                "pegaflow_cache_block_misses",
                "Blocks that lookups did not find in memory",
                MetricType::Counter,
                |space| space.misses,
            ),
            (
                "pegaflow_cache_block_insertions",
                "Blocks that became visible",
                MetricType::Counter,
                |space| space.admissions,
            ),
            (
                "pegaflow_cache_block_evictions",
                "Blocks evicted to make room",
                MetricType::Counter,
                |space| space.evictions,
            ),
        ];
        for (name, help, kind, of) in spaces {
            let mut values = BTreeMap::new();
            for space in &store.spaces {
                *entry(&mut values, &space.key.namespace) += of(space);
            }
            lines.by("namespace", name, help, kind, values)?;
        }
        Ok(())
    }

    fn nodes(&self, lines: &mut Lines<'_, '_>) -> fmt::Result {
        let nodes = self.0.store.memory_nodes().into_iter();
        lines.by(
            "node",
            "pegaflow_pool_node_bytes",
            "Pool bytes on a NUMA node; about, where there are several",
            MetricType::Gauge,
            nodes.map(|of| (of.node.to_string(), of.bytes)),
        )
    }

    fn checksums(store: &StoreSnapshot, lines: &mut Lines<'_, '_>) -> fmt::Result {
        let taken_over = store.taken_over.unwrap_or_default();
        lines.gauge(
            "pegaflow_taken_over_blocks",
            "Blocks of an ended daemon's pool that the start took over",
            taken_over.blocks as f64,
        )?;
        let dropped = [
            ("unsealed", taken_over.unsealed_pages),
            ("no_checksum", taken_over.pages_without_checksum),
            ("bad_record", taken_over.bad_records),
            ("incomplete_block", taken_over.incomplete_pages),
        ];
        lines.by(
            "reason",
            "pegaflow_take_over_dropped_pages",
            "Pages of an ended daemon's pool that the start dropped, by reason",
            MetricType::Gauge,
            dropped.map(|(reason, count)| (reason.to_owned(), count)),
        )?;
        lines.gauge(
            "pegaflow_take_over_duration_seconds",
            "How long the start took for that, 0 for a new pool",
            taken_over.duration.as_secs_f64(),
        )?;
        let checksums = &store.checksums;
        lines.gauge(
            "pegaflow_checksums_pending_pages",
            "Sealed pages that still lack their checksum",
            checksums.pending_pages as f64,
        )?;
        lines.counter(
            "pegaflow_checksums_made",
            "Pages that were given their checksum",
            checksums.made,
        )?;
        lines.counter(
            "pegaflow_verified_bytes",
            "Bytes that loads compared with checksums",
            checksums.verified_bytes,
        )?;
        lines.counter(
            "pegaflow_scrubbed_pages",
            "Pages that the background compared with checksums",
            checksums.scrubbed_pages,
        )?;
        lines.counter(
            "pegaflow_corrupt_blocks",
            "Blocks dropped because a page was not what was saved",
            checksums.corrupt_blocks,
        )
    }

    fn what_if(&self, lines: &mut Lines<'_, '_>) -> fmt::Result {
        let what_if = WhatIf::of(&self.0.store);
        let points = || what_if.points().iter();
        let help = format!(
            "The part of the blocks asked for that a pool of this size would have hit under {}, about",
            what_if.policy()
        );
        lines.gauges(
            "pool_bytes",
            "pegaflow_what_if_hit_ratio",
            &help,
            points().map(|point| (point.pool_bytes.to_string(), point.hit_percent / 100.0)),
        )?;
        lines.gauges(
            "pool_bytes",
            "pegaflow_what_if_rough",
            "Whether that may be off by more than two points: 1 if so",
            points().map(|point| (point.pool_bytes.to_string(), f64::from(u8::from(point.is_rough)))),
        )?;
        lines.gauge(
            "pegaflow_suggested_pool_bytes",
            "The least size of these that hits about as much as the best, 0 before anything was asked for",
            what_if.suggested().map_or(0, |point| point.pool_bytes) as f64,
        )
    }

    fn recording(recording: &RecordingSnapshot, lines: &mut Lines<'_, '_>) -> fmt::Result {
        lines.counter(
            "pegaflow_recorded_lookups",
            "Lookups that were recorded",
            recording.lookups,
        )?;
        lines.counter(
            "pegaflow_recording_left_out_lookups",
            "Lookups that were not recorded, to keep to the share of a processor or for want of a disk",
            recording.left_out,
        )?;
        lines.gauge(
            "pegaflow_recording_bytes",
            "Bytes of the recordings that are there",
            recording.bytes as f64,
        )
    }

    fn leases(&self, lines: &mut Lines<'_, '_>) -> fmt::Result {
        let leases = self.0.leases.snapshot(Instant::now());
        lines.gauge("pegaflow_leases", "Leases held", leases.leases as f64)?;
        lines.gauge(
            "pegaflow_lease_blocks",
            "Blocks that leases name",
            leases.blocks as f64,
        )?;
        lines.gauge(
            "pegaflow_lease_bytes",
            "Bytes of the blocks that leases name",
            leases.bytes as f64,
        )?;
        let oldest = leases.oldest.unwrap_or_default().as_secs_f64();
        lines.gauge(
            "pegaflow_lease_oldest_age_seconds",
            "Age of the oldest lease, 0 without one",
            oldest,
        )?;
        lines.counter("pegaflow_leases_granted", "Leases given", leases.granted)?;
        let ends = [
            ("loaded", leases.loaded),
            ("released", leases.released),
            ("expired", leases.expired),
            ("owner_ended", leases.orphaned),
        ];
        lines.by(
            "reason",
            "pegaflow_leases_ended",
            "Leases that ended, by reason",
            MetricType::Counter,
            ends.map(|(reason, count)| (reason.to_owned(), count)),
        )
    }

    fn engines(&self, lines: &mut Lines<'_, '_>) -> fmt::Result {
        let counts = self.0.sessions.counts();
        let engines = [
            ("complete", counts.complete),
            ("incomplete", counts.incomplete),
            ("refused", counts.refused),
        ];
        lines.by(
            "state",
            "pegaflow_engines",
            "Engines attached, by state",
            MetricType::Gauge,
            engines.map(|(state, count)| (state.to_owned(), count)),
        )?;
        lines.gauge(
            "pegaflow_engine_sessions",
            "Engine sessions that are open",
            counts.sessions as f64,
        )?;
        lines.gauge(
            "pegaflow_registrations",
            "Workers whose memory is registered",
            counts.registrations as f64,
        )
    }
}

/// Writes one metric a call.
pub(super) struct Lines<'a, 'e>(&'a mut DescriptorEncoder<'e>);

impl Lines<'_, '_> {
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        ConstGauge::new(value).encode(self.descriptor(name, help, MetricType::Gauge)?)
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        ConstCounter::new(value).encode(self.descriptor(name, help, MetricType::Counter)?)
    }

    /// One value for each value of one label.
    pub(super) fn by(
        &mut self,
        label: &str,
        name: &str,
        help: &str,
        kind: MetricType,
        values: impl IntoIterator<Item = (String, u64)>,
    ) -> fmt::Result {
        let values = values.into_iter().map(|(of, value)| ([(label, of)], value));
        self.family(name, help, kind, values)
    }

    /// One value for each set of labels.
    pub(super) fn family<'l, const LABELS: usize>(
        &mut self,
        name: &str,
        help: &str,
        kind: MetricType,
        values: impl IntoIterator<Item = ([(&'l str, String); LABELS], u64)>,
    ) -> fmt::Result {
        let mut family = self.descriptor(name, help, kind)?;
        for (labels, value) in values {
            let encoder = family.encode_family(&labels)?;
            if kind == MetricType::Counter {
                ConstCounter::new(value).encode(encoder)?;
            } else {
                ConstGauge::new(value as f64).encode(encoder)?;
            }
        }
        Ok(())
    }

    /// One value that is no whole number for each value of one label.
    pub(super) fn gauges(
        &mut self,
        label: &str,
        name: &str,
        help: &str,
        values: impl IntoIterator<Item = (String, f64)>,
    ) -> fmt::Result {
        let mut family = self.descriptor(name, help, MetricType::Gauge)?;
        for (of, value) in values {
            ConstGauge::new(value).encode(family.encode_family(&[(label, of)])?)?;
        }
        Ok(())
    }

    /// Upper bounds with the counts of their buckets, which are not cumulated.
    pub(super) fn histogram(
        &mut self,
        name: &str,
        help: &str,
        sum: f64,
        buckets: &[(f64, u64)],
    ) -> fmt::Result {
        let count = buckets.iter().map(|(_, count)| count).sum();
        let mut encoder = self.descriptor(name, help, MetricType::Histogram)?;
        encoder.encode_histogram::<NoLabelSet>(sum, count, buckets, None)
    }

    pub(super) fn descriptor<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, help, None, kind)
    }
}
