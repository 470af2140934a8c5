//! Spans of calls, kept until they are sent.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{Span, Status, span::SpanKind, status::StatusCode};
use parking_lot::Mutex;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use sha2::{Digest, Sha256};

/// Spans that wait; more are dropped, and counted.
pub(super) const WAITING_MAX: usize = 8_192;

/// The spans that wait to be sent.
#[derive(Debug)]
pub(crate) struct Spans {
    waiting: Mutex<VecDeque<Span>>,
    is_on: bool,
    pub(super) dropped: Counter,
    pub(super) failed_exports: Counter,
}

impl Spans {
    /// None yet; unless the export is on, none ever.
    pub(crate) fn new(is_on: bool) -> Arc<Self> {
        Arc::new(Self {
            waiting: Mutex::default(),
            is_on,
            dropped: Counter::default(),
            failed_exports: Counter::default(),
        })
    }

    /// Shows what the export lost.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "pegaflow_otlp_spans_dropped",
            "Spans that were not sent because the endpoint did not take them in time",
            self.dropped.clone(),
        );
        registry.register(
            "pegaflow_otlp_exports_failed",
            "Calls of the endpoint that failed",
            self.failed_exports.clone(),
        );
    }

    /// A span of a request that an engine made, from now until it is dropped; None where the export is off.
    ///
    /// All spans of one request are of one trace.
    pub(crate) fn begin(self: &Arc<Self>, name: &str, engine_id: &str, request_id: &str) -> Option<OpenSpan> {
        if !self.is_on {
            return None;
        }
        let mut trace = Sha256::new();
        trace.update(engine_id);
        trace.update([0]);
        trace.update(request_id);
        let span = Span {
            trace_id: trace.finalize().iter().take(16).copied().collect(),
            span_id: rand::random_range(1..=u64::MAX).to_be_bytes().to_vec(),
            name: name.to_owned(),
            kind: SpanKind::Server.into(),
            start_time_unix_nano: now_ns(),
            attributes: vec![
                attribute("pegaflow.request_id", Value::StringValue(request_id.to_owned())),
                attribute("pegaflow.engine_id", Value::StringValue(engine_id.to_owned())),
            ],
            status: Some(Status {
                message: "the call was refused or given up".to_owned(),
                code: StatusCode::Error.into(),
            }),
            ..Span::default()
        };
        Some(OpenSpan {
            spans: Arc::clone(self),
            span,
        })
    }

    /// The spans that have waited longest.
    pub(super) fn take(&self, most: usize) -> Vec<Span> {
        let mut waiting = self.waiting.lock();
        let count = waiting.len().min(most);
        waiting.drain(..count).collect()
    }

    fn add(&self, span: Span) {
        let mut waiting = self.waiting.lock();
        if waiting.len() < WAITING_MAX {
            waiting.push_back(span);
        } else {
            self.dropped.inc();
        }
    }
}

/// A call under way; it ends, as an error unless [`OpenSpan::ok`] was said, when this is dropped.
#[derive(Debug)]
pub(crate) struct OpenSpan {
    spans: Arc<Spans>,
    span: Span,
}

impl OpenSpan {
    /// Adds numbers.
    pub(crate) fn count(&mut self, counts: &[(&str, u64)]) {
        self.span.attributes.extend(counts.iter().map(|(name, count)| {
            let count = i64::try_from(*count).unwrap_or(i64::MAX);
            attribute(&format!("pegaflow.{name}"), Value::IntValue(count))
        }));
    }

    /// Adds the word for how it ended.
    pub(crate) fn outcome(&mut self, outcome: &str) {
        let value = Value::StringValue(outcome.to_owned());
        self.span.attributes.push(attribute("pegaflow.outcome", value));
    }

    /// It ends well.
    pub(crate) fn ok(&mut self) {
        self.span.status = None;
    }

    /// It ends with an error.
    pub(crate) fn fail(&mut self, why: &str) {
        self.span.status = Some(Status {
            message: why.to_owned(),
            code: StatusCode::Error.into(),
        });
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        let mut span = std::mem::take(&mut self.span);
        span.end_time_unix_nano = now_ns();
        self.spans.add(span);
    }
}

/// One attribute of a span, a point or the resource.
pub(super) fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}

/// Now, as OTLP has times.
pub(super) fn now_ns() -> u64 {
    ns(SystemTime::now())
}

/// A time, as OTLP has it.
pub(super) fn ns(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
