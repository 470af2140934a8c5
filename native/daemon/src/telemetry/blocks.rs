//! Blocks that lookups asked for, by where they were: the four always add up to what was asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;

/// Labels of one kind that have a value of their own; the others share one.
const LABELS_MAX: usize = 64;
const OTHER: &str = "other";

/// Where the blocks of lookups were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BlockCounts {
    pub(crate) memory: u64,
    pub(crate) ssd: u64,
    pub(crate) remote: u64,
    pub(crate) miss: u64,
}

impl BlockCounts {
    /// All that were asked for.
    pub(crate) fn requested(&self) -> u64 {
        self.memory + self.ssd + self.remote + self.miss
    }

    fn add(&mut self, more: &Self) {
        self.memory += more.memory;
        self.ssd += more.ssd;
        self.remote += more.remote;
        self.miss += more.miss;
    }

    fn by_tier(&self) -> [(&'static str, u64); 4] {
        [
            ("memory", self.memory),
            ("ssd", self.ssd),
            ("remote", self.remote),
            ("miss", self.miss),
        ]
    }
}

/// The counts of each namespace; clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlockRequests(Arc<Mutex<BTreeMap<String, BlockCounts>>>);

impl BlockRequests {
    /// Counts one lookup that was answered.
    pub(crate) fn add(&self, namespace: &[u8; 32], counts: &BlockCounts) {
        entry(&mut self.0.lock(), namespace).add(counts);
    }

    /// Over all namespaces.
    pub(crate) fn total(&self) -> BlockCounts {
        let mut total = BlockCounts::default();
        self.0.lock().values().for_each(|counts| total.add(counts));
        total
    }
}

/// The entry of a namespace in a table by label, whose size is bounded.
pub(super) fn entry<'a, V: Default>(table: &'a mut BTreeMap<String, V>, namespace: &[u8; 32]) -> &'a mut V {
    bounded(table, label(namespace))
}

/// The entry of a label in a table whose size is bounded.
pub(super) fn bounded<V: Default>(table: &mut BTreeMap<String, V>, label: String) -> &mut V {
    let has_room = table.len() < LABELS_MAX || table.contains_key(&label);
    table
        .entry(if has_room { label } else { OTHER.to_owned() })
        .or_default()
}

/// What a namespace is called: it has enough digits to tell those of one host apart.
pub(crate) fn label(namespace: &[u8; 32]) -> String {
    let digits = namespace.iter().take(8);
    digits.map(|byte| format!("{byte:02x}")).collect()
}

impl Collector for BlockRequests {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let table = self.0.lock().clone();
        let mut tiers = encoder.encode_descriptor(
            "pegaflow_cache_tier_block_requests",
            "Blocks that lookups asked for, by the tier that had them; all tiers add up to pegaflow_cache_blocks_requested",
            None,
            MetricType::Counter,
        )?;
        for (namespace, counts) in &table {
            for (tier, count) in counts.by_tier() {
                let labels = [("tier", tier), ("namespace", namespace.as_str())];
                ConstCounter::new(count).encode(tiers.encode_family(&labels)?)?;
            }
        }
        let mut requested = encoder.encode_descriptor(
            "pegaflow_cache_blocks_requested",
            "Blocks that lookups asked for",
            None,
            MetricType::Counter,
        )?;
        for (namespace, counts) in &table {
            let labels = [("namespace", namespace.as_str())];
            ConstCounter::new(counts.requested()).encode(requested.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
