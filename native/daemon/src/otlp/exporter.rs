//! The thread that sends.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, any_value::Value};
use opentelemetry_proto::tonic::metrics::v1::{ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans};
use pegaflow_core::error::{Error, Result};
use tokio::runtime::Builder;
use tokio::time::{sleep, timeout};

use super::metrics::metrics;
use super::settings::OtlpSettings;
use super::spans::{Spans, attribute, now_ns, ns};
use super::transport::{SendError, Transport};
use crate::boot::VERSION;
use crate::daemon::Daemon;
use crate::telemetry::Exposition;

/// Spans in one call.
const BATCH: usize = 512;
/// What the end of the daemon waits for the last call.
const LAST_CALL: Duration = Duration::from_secs(1);

/// The thread, until the daemon has ended.
#[derive(Debug)]
pub(crate) struct Exporter(JoinHandle<()>);

impl Exporter {
    /// Starts to send.
    ///
    /// # Errors
    /// `Io` when the system has no room for it.
    pub(crate) fn start(daemon: &Arc<Daemon>, settings: OtlpSettings) -> Result<Self> {
        let io = |error| Error::io("start the thread that exports by OTLP", error);
        let runtime = Builder::new_current_thread().enable_all().build().map_err(io)?;
        let daemon = Arc::clone(daemon);
        let thread = thread::Builder::new().name("pega-otlp".to_owned());
        let work = move || {
            runtime.block_on(async {
                let sender = Sender::new(&daemon, settings);
                tokio::select! {
                    () = sender.send() => {}
                    () = daemon.lifecycle.wait_ended() => {}
                }
                drop(timeout(LAST_CALL, sender.send_all()).await);
            });
        };
        thread.spawn(work).map(Self).map_err(io)
    }

    /// Waits for the thread's end.
    pub(crate) fn join(self) {
        if self.0.join().is_err() {
            tracing::error!("the thread that exports by OTLP panicked");
        }
    }
}

struct Sender {
    settings: OtlpSettings,
    transport: Transport,
    spans: Arc<Spans>,
    exposition: Exposition,
    resource: Resource,
    start_ns: u64,
}

impl Sender {
    fn new(daemon: &Arc<Daemon>, settings: OtlpSettings) -> Self {
        let attributes = settings.resource.iter();
        let mut attributes: Vec<_> = attributes
            .map(|(key, value)| attribute(key, Value::StringValue(value.clone())))
            .collect();
        let of_boot = [
            ("service.version", VERSION.to_owned()),
            ("service.instance.id", daemon.boot.id_text()),
        ];
        attributes.extend(of_boot.map(|(key, value)| attribute(key, Value::StringValue(value))));
        Self {
            transport: Transport::new(&settings),
            settings,
            spans: Arc::clone(&daemon.spans),
            exposition: Exposition::new(daemon),
            resource: Resource {
                attributes,
                ..Resource::default()
            },
            start_ns: ns(daemon.boot.started_at),
        }
    }

    /// Sends again and again.
    async fn send(&self) {
        let (mut next_metrics, mut is_there) = (Instant::now(), true);
        loop {
            let mut sent = self.send_spans().await;
            if Instant::now() >= next_metrics {
                next_metrics = Instant::now() + self.settings.metric_interval;
                sent = sent.and(self.send_metrics().await);
            }
            match (&sent, is_there) {
                (Err(error), true) => tracing::warn!("the OTLP endpoint does not take what is sent: {error}"),
                (Ok(()), false) => tracing::info!("the OTLP endpoint takes what is sent again"),
                _ => {}
            }
            is_there = sent.is_ok();
            let until_metrics = next_metrics.saturating_duration_since(Instant::now());
            sleep(self.settings.span_interval.min(until_metrics)).await;
        }
    }

    /// Sends what there is, once.
    async fn send_all(&self) {
        let sent = self.send_spans().await.and(self.send_metrics().await);
        if let Err(error) = sent {
            tracing::warn!("the last spans and metrics were not sent: {error}");
        }
    }

    async fn send_spans(&self) -> std::result::Result<(), SendError> {
        if !self.settings.has_traces {
            self.spans.take(usize::MAX);
            return Ok(());
        }
        loop {
            let batch = self.spans.take(BATCH);
            let count = batch.len();
            if count == 0 {
                return Ok(());
            }
            let message = ExportTraceServiceRequest {
                resource_spans: vec![ResourceSpans {
                    resource: Some(self.resource.clone()),
                    scope_spans: vec![ScopeSpans {
                        scope: Some(scope()),
                        spans: batch,
                        ..ScopeSpans::default()
                    }],
                    ..ResourceSpans::default()
                }],
            };
            if let Err(error) = self.transport.send_spans(message).await {
                self.spans.dropped.inc_by(count as u64);
                self.spans.failed_exports.inc();
                return Err(error);
            }
        }
    }

    async fn send_metrics(&self) -> std::result::Result<(), SendError> {
        if !self.settings.has_metrics {
            return Ok(());
        }
        let text = self.exposition.text().unwrap_or_default();
        let message = ExportMetricsServiceRequest {
            resource_metrics: vec![ResourceMetrics {
                resource: Some(self.resource.clone()),
                scope_metrics: vec![ScopeMetrics {
                    scope: Some(scope()),
                    metrics: metrics(&text, self.start_ns, now_ns()),
                    ..ScopeMetrics::default()
                }],
                ..ResourceMetrics::default()
            }],
        };
        let sent = self.transport.send_metrics(message).await;
        sent.inspect_err(|_| {
            self.spans.failed_exports.inc();
        })
    }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope {
        name: "pegaflow".to_owned(),
        version: VERSION.to_owned(),
        ..InstrumentationScope::default()
    }
}
