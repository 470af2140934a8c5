//! Counters and latencies, kept once and shown by `/metrics` and the status document.

mod blocks;
mod demand;
mod engines;
mod latency;
mod metrics;
mod operations;
mod overview;
mod prefixes;
mod recompute;
mod rpc;
mod scrape;
mod ssd;
mod transfers;

pub(crate) use blocks::{BlockCounts, label};
pub(crate) use latency::Latency;
pub(crate) use metrics::Metrics;
pub(crate) use operations::OperationMetrics;
pub(crate) use prefixes::HotPrefix;
pub(crate) use recompute::Restore;
pub(crate) use rpc::RpcMetrics;
pub(crate) use scrape::Exposition;
pub(crate) use transfers::{Direction, InFlight, TransferMetrics};

#[cfg(test)]
mod tests;
