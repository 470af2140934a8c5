//! A histogram of durations that can tell quantiles as well.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

/// Upper bounds of the buckets in microseconds; one more bucket has the rest.
const BOUNDS_US: [u64; 19] = [
    50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
    2_000_000, 5_000_000, 10_000_000, 30_000_000, 60_000_000,
];

/// How long something took, each time; clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latency(Arc<Buckets>);

#[derive(Debug, Default)]
struct Buckets {
    counts: [AtomicU64; BOUNDS_US.len() + 1],
    sum_ns: AtomicU64,
}

impl Latency {
    /// Counts one duration.
    pub(crate) fn observe(&self, duration: Duration) {
        let us = duration.as_micros();
        let bucket = BOUNDS_US
            .iter()
            .position(|&bound| us <= u128::from(bound))
            .unwrap_or(BOUNDS_US.len());
        if let Some(count) = self.0.counts.get(bucket) {
            count.fetch_add(1, Relaxed);
        }
        self.0
            .sum_ns
            .fetch_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX), Relaxed);
    }

    /// The duration in seconds that this share of all was at most, within its bucket's width; None before the first.
    pub(crate) fn quantile_s(&self, share: f64) -> Option<f64> {
        let counts = self.counts();
        let total: u64 = counts.iter().sum();
        let wanted = share * total as f64;
        let mut below = 0;
        let mut lower_us = 0;
        for (&count, &upper_us) in counts.iter().zip(BOUNDS_US.iter().chain(BOUNDS_US.last())) {
            if count > 0 && (below + count) as f64 >= wanted {
                let within = (wanted - below as f64).max(0.0) / count as f64;
                return Some((lower_us as f64 + within * (upper_us - lower_us) as f64) / 1e6);
            }
            below += count;
            lower_us = upper_us;
        }
        None
    }

    /// The sum of all durations in seconds.
    pub(crate) fn sum_s(&self) -> f64 {
        self.0.sum_ns.load(Relaxed) as f64 / 1e9
    }

    /// How many were counted.
    pub(crate) fn count(&self) -> u64 {
        self.counts().iter().sum()
    }

    fn counts(&self) -> [u64; BOUNDS_US.len() + 1] {
        self.0.counts.each_ref().map(|count| count.load(Relaxed))
    }
}

impl TypedMetric for Latency {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Latency {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        let counts = self.counts();
        let bounds = BOUNDS_US.iter().map(|&us| us as f64 / 1e6).chain([f64::INFINITY]);
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        encoder.encode_histogram::<NoLabelSet>(self.sum_s(), counts.iter().sum(), &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}
