//! Metrics and traces for an OpenTelemetry collector, by OTLP over gRPC or HTTP; off unless an endpoint is set.
//!
//! A thread of its own sends what others leave in a bounded queue: an endpoint that is slow, hangs or is not there costs spans,
//! which are counted, and nothing else.

mod exporter;
mod metrics;
mod settings;
mod spans;
mod tls;
mod transport;

pub(crate) use exporter::Exporter;
pub(crate) use settings::OtlpSettings;
pub(crate) use spans::{OpenSpan, Spans};

#[cfg(test)]
mod tests;
