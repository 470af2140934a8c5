//! How the export is set: the endpoint by the daemon's settings, the rest by OpenTelemetry's usual variables.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use pegaflow_core::error::{Error, ErrorKind, Result};
use tonic::metadata::{AsciiMetadataKey, AsciiMetadataValue};
use tonic::transport::Endpoint;

/// Where the export goes, and how.
#[derive(Debug, Clone)]
pub(crate) struct OtlpSettings {
    pub(super) endpoint: Endpoint,
    /// Sent with each call.
    pub(super) headers: Vec<(AsciiMetadataKey, AsciiMetadataValue)>,
    /// What the spans and metrics are of, `service.name` first.
    pub(super) resource: Vec<(String, String)>,
    pub(super) has_metrics: bool,
    pub(super) has_traces: bool,
    pub(super) metric_interval: Duration,
    pub(super) span_interval: Duration,
}

impl OtlpSettings {
    /// The settings for this endpoint; `variable` gives environment variables.
    ///
    /// # Errors
    /// `Config`, naming the setting or variable, its value and what is allowed.
    pub(crate) fn read(endpoint: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self> {
        let allowed = "http://HOST:PORT, where a collector takes OTLP over gRPC";
        if !endpoint.starts_with("http://") {
            return Err(refused("otlp_endpoint", endpoint, allowed));
        }
        let timeout = milliseconds(&variable, "OTEL_EXPORTER_OTLP_TIMEOUT", 10_000)?;
        let endpoint = Endpoint::from_str(endpoint)
            .map_err(|_| refused("otlp_endpoint", endpoint, allowed))?
            .connect_timeout(timeout)
            .timeout(timeout);
        let name = variable("OTEL_SERVICE_NAME").unwrap_or_else(|| "pegaflow".to_owned());
        let mut resource = vec![("service.name".to_owned(), name)];
        resource.extend(
            pairs(&variable, "OTEL_RESOURCE_ATTRIBUTES")?
                .into_iter()
                .filter(|(key, _)| key != "service.name"),
        );
        let headers = pairs(&variable, "OTEL_EXPORTER_OTLP_HEADERS")?.into_iter();
        Ok(Self {
            endpoint,
            headers: headers
                .map(|(key, value)| {
                    let header = (key.to_lowercase().parse(), value.parse());
                    match header {
                        (Ok(key), Ok(value)) => Ok((key, value)),
                        _ => Err(refused("OTEL_EXPORTER_OTLP_HEADERS", &key, "names of headers")),
                    }
                })
                .collect::<Result<_>>()?,
            resource,
            has_metrics: is_otlp(&variable, "OTEL_METRICS_EXPORTER")?,
            has_traces: is_otlp(&variable, "OTEL_TRACES_EXPORTER")?,
            metric_interval: milliseconds(&variable, "OTEL_METRIC_EXPORT_INTERVAL", 60_000)?,
            span_interval: milliseconds(&variable, "OTEL_BSP_SCHEDULE_DELAY", 5_000)?,
        })
    }
}

fn is_otlp(variable: impl Fn(&str) -> Option<String>, name: &str) -> Result<bool> {
    match variable(name).as_deref() {
        None | Some("" | "otlp") => Ok(true),
        Some("none") => Ok(false),
        Some(other) => Err(refused(name, other, "otlp and none")),
    }
}

fn milliseconds(variable: impl Fn(&str) -> Option<String>, name: &str, default: u64) -> Result<Duration> {
    let Some(text) = variable(name).filter(|text| !text.is_empty()) else {
        return Ok(Duration::from_millis(default));
    };
    match text.parse() {
        Ok(number) if (1..=3_600_000).contains(&number) => Ok(Duration::from_millis(number)),
        _ => Err(refused(name, &text, "1 to 3600000 milliseconds")),
    }
}

/// `key=value,key=value`, with percent-escapes in values.
fn pairs(variable: impl Fn(&str) -> Option<String>, name: &str) -> Result<Vec<(String, String)>> {
    let text = variable(name).unwrap_or_default();
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let pair = part
                .split_once('=')
                .and_then(|(key, value)| Some((key.trim().to_owned(), unescaped(value.trim())?)));
            pair.filter(|(key, _)| !key.is_empty())
                .ok_or_else(|| refused(name, part, "key=value,key=value"))
        })
        .collect()
}

fn unescaped(text: &str) -> Option<String> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

fn refused(name: &str, value: impl Display, allowed: &str) -> Error {
    Error::new(
        ErrorKind::Config,
        format!("{name} = {value} cannot be used: allowed are {allowed}"),
    )
}
