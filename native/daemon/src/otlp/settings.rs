//! How the export is set: the endpoint by the daemon's settings, the rest by OpenTelemetry's usual variables.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use hyper::{HeaderMap, Uri};
use pegaflow_core::error::{Error, ErrorKind, Result};
use rustls::ClientConfig;

use super::tls;

/// How messages are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Grpc,
    HttpProtobuf,
}

/// Where the export goes, and how.
#[derive(Debug, Clone)]
pub(crate) struct OtlpSettings {
    pub(super) endpoint: Uri,
    pub(super) protocol: Protocol,
    /// For an https endpoint.
    pub(super) tls: ClientConfig,
    /// Sent with each call.
    pub(super) headers: HeaderMap,
    /// How long a call may take.
    pub(super) timeout: Duration,
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
        let endpoint = uri(endpoint)?;
        let name = variable("OTEL_SERVICE_NAME").unwrap_or_else(|| "pegaflow".to_owned());
        let mut resource = vec![("service.name".to_owned(), name)];
        resource.extend(
            pairs(&variable, "OTEL_RESOURCE_ATTRIBUTES")?
                .into_iter()
                .filter(|(key, _)| key != "service.name"),
        );
        Ok(Self {
            protocol: protocol(&variable)?,
            tls: tls::read(endpoint.scheme_str() == Some("https"), &variable)?,
            endpoint,
            headers: headers(&variable)?,
            timeout: milliseconds(&variable, "OTEL_EXPORTER_OTLP_TIMEOUT", 10_000)?,
            resource,
            has_metrics: is_otlp(&variable, "OTEL_METRICS_EXPORTER")?,
            has_traces: is_otlp(&variable, "OTEL_TRACES_EXPORTER")?,
            metric_interval: milliseconds(&variable, "OTEL_METRIC_EXPORT_INTERVAL", 60_000)?,
            span_interval: milliseconds(&variable, "OTEL_BSP_SCHEDULE_DELAY", 5_000)?,
        })
    }
}

fn uri(endpoint: &str) -> Result<Uri> {
    let uri = Uri::from_str(endpoint).ok().filter(|uri| {
        let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
        is_web && uri.host().is_some_and(|host| !host.is_empty()) && uri.query().is_none()
    });
    uri.ok_or_else(|| {
        refused(
            "otlp_endpoint",
            endpoint,
            "http://HOST:PORT and https://HOST:PORT, where a collector takes OTLP",
        )
    })
}

fn protocol(variable: impl Fn(&str) -> Option<String>) -> Result<Protocol> {
    const NAME: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
    match variable(NAME).as_deref() {
        None | Some("" | "grpc") => Ok(Protocol::Grpc),
        Some("http/protobuf") => Ok(Protocol::HttpProtobuf),
        Some(other) => Err(refused(NAME, other, "grpc and http/protobuf")),
    }
}

fn headers(variable: impl Fn(&str) -> Option<String>) -> Result<HeaderMap> {
    const NAME: &str = "OTEL_EXPORTER_OTLP_HEADERS";
    let given = pairs(variable, NAME)?.into_iter();
    given
        .map(
            |(key, value)| match (HeaderName::from_str(&key), HeaderValue::from_str(&value)) {
                (Ok(name), Ok(mut value)) => {
                    value.set_sensitive(true);
                    Ok((name, value))
                }
                _ => Err(refused(
                    NAME,
                    &key,
                    "names of headers, with values of printable characters",
                )),
            },
        )
        .collect()
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

/// The error for a setting or variable that cannot be used.
pub(super) fn refused(name: &str, value: impl Display, allowed: impl Display) -> Error {
    Error::new(
        ErrorKind::Config,
        format!("{name} = {value} cannot be used: allowed are {allowed}"),
    )
}
