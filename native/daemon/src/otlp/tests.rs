use opentelemetry_proto::tonic::metrics::v1::{metric::Data, number_data_point::Value};

use super::metrics::metrics;
use super::settings::Protocol;
use super::spans::WAITING_MAX;
use super::*;

fn settings(endpoint: &str, variables: &[(&str, &str)]) -> Result<OtlpSettings, String> {
    OtlpSettings::read(endpoint, |name| {
        let found = variables.iter().find(|(key, _)| *key == name);
        found.map(|(_, value)| (*value).to_owned())
    })
    .map_err(|error| error.message().to_owned())
}

#[test]
fn the_usual_variables_are_read() {
    let variables = [
        ("OTEL_SERVICE_NAME", "cache"),
        (
            "OTEL_RESOURCE_ATTRIBUTES",
            "host.name=gpu-1, service.name=other,zone=a%2Cb",
        ),
        ("OTEL_EXPORTER_OTLP_HEADERS", "X-Token=secret"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "1500"),
        ("OTEL_BSP_SCHEDULE_DELAY", ""),
        ("OTEL_TRACES_EXPORTER", "none"),
    ];
    let settings = settings("http://127.0.0.1:4317", &variables).unwrap();
    let resource: Vec<_> = settings
        .resource
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    assert_eq!(resource, ["service.name=cache", "host.name=gpu-1", "zone=a,b"]);
    assert_eq!(settings.headers["x-token"], "secret");
    assert!(!format!("{:?}", settings.headers).contains("secret"));
    assert_eq!(settings.protocol, Protocol::Grpc);
    assert_eq!(settings.metric_interval.as_millis(), 1_500);
    assert_eq!(settings.span_interval.as_millis(), 5_000);
    assert_eq!((settings.has_metrics, settings.has_traces), (true, false));
}

#[test]
fn what_cannot_be_used_is_named() {
    for (endpoint, variable, said) in [
        ("gpu-1:4317", ("X", ""), "otlp_endpoint = gpu-1:4317"),
        (
            "ftp://a:4317",
            ("X", ""),
            "allowed are http://HOST:PORT and https://HOST:PORT",
        ),
        (
            "http://a:4317?b=c",
            ("X", ""),
            "otlp_endpoint = http://a:4317?b=c",
        ),
        (
            "http://a:4318",
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            "allowed are grpc and http/protobuf",
        ),
        (
            "https://a:4318",
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere.pem"),
            "OTEL_EXPORTER_OTLP_CERTIFICATE = /nowhere.pem cannot be used: allowed are certificates in PEM",
        ),
        (
            "https://a:4318",
            ("OTEL_EXPORTER_OTLP_CLIENT_KEY", "/nowhere.pem"),
            "OTEL_EXPORTER_OTLP_CLIENT_KEY = /nowhere.pem",
        ),
        ("http://", ("X", ""), "otlp_endpoint"),
        (
            "http://a:1",
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
            "OTEL_EXPORTER_OTLP_TIMEOUT = 0",
        ),
        (
            "http://a:1",
            ("OTEL_RESOURCE_ATTRIBUTES", "a"),
            "OTEL_RESOURCE_ATTRIBUTES = a",
        ),
        (
            "http://a:1",
            ("OTEL_METRICS_EXPORTER", "console"),
            "allowed are otlp and none",
        ),
        (
            "http://a:1",
            ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c"),
            "names of headers",
        ),
    ] {
        let refused = settings(endpoint, &[variable]).unwrap_err();
        assert!(refused.contains(said), "{refused}");
    }
}

#[test]
fn an_exposition_becomes_sums_gauges_and_histograms() {
    let text = "# HELP a_things Things.\n# TYPE a_things counter\na_things_total{kind=\"x\\\"\\n,y\"} 3\n\
                # HELP b Level.\n# TYPE b gauge\nb -1.5\n\
                # HELP c_seconds Time.\n# TYPE c_seconds histogram\nc_seconds_sum 2.5\nc_seconds_count 5\n\
                c_seconds_bucket{le=\"0.1\"} 2\nc_seconds_bucket{le=\"1.0\"} 4\nc_seconds_bucket{le=\"+Inf\"} 5\n# EOF\n";
    let found = metrics(text, 1, 2);
    let names: Vec<_> = found.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(names, ["a_things_total", "b", "c_seconds"]);
    assert_eq!(found[0].description, "Things.");
    let Some(Data::Sum(sum)) = &found[0].data else {
        panic!("{found:?}")
    };
    assert!(sum.is_monotonic);
    let point = &sum.data_points[0];
    assert_eq!(point.value, Some(Value::AsDouble(3.0)));
    assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (1, 2));
    assert!(format!("{:?}", point.attributes[0].value).contains(r#"x\"\n,y"#));
    let Some(Data::Gauge(gauge)) = &found[1].data else {
        panic!("{found:?}")
    };
    assert_eq!(gauge.data_points[0].value, Some(Value::AsDouble(-1.5)));
    let Some(Data::Histogram(histogram)) = &found[2].data else {
        panic!("{found:?}")
    };
    let point = &histogram.data_points[0];
    assert_eq!((point.count, point.sum), (5, Some(2.5)));
    assert_eq!(point.bucket_counts, [2, 2, 1]);
    assert_eq!(point.explicit_bounds, [0.1, 1.0]);
}

#[test]
fn spans_beyond_the_room_are_dropped_and_counted() {
    let spans = Spans::new(true);
    for _ in 0..WAITING_MAX + 3 {
        drop(spans.begin("pegaflow.save", "engine", "request"));
    }
    assert_eq!(spans.dropped.get(), 3);
    assert_eq!(spans.take(usize::MAX).len(), WAITING_MAX);
}

#[test]
fn without_an_endpoint_there_are_no_spans() {
    assert!(
        Spans::new(false)
            .begin("pegaflow.save", "engine", "request")
            .is_none()
    );
}

#[test]
fn spans_of_a_request_are_of_one_trace() {
    let spans = Spans::new(true);
    for (engine, request) in [("a", "1"), ("a", "1"), ("a", "2"), ("b", "1")] {
        spans.begin("pegaflow.save", engine, request).unwrap().ok();
    }
    let found = spans.take(10);
    assert_eq!(found[0].trace_id, found[1].trace_id);
    assert_ne!(found[0].span_id, found[1].span_id);
    assert_ne!(found[0].trace_id, found[2].trace_id);
    assert_ne!(found[0].trace_id, found[3].trace_id);
    assert!(
        found
            .iter()
            .all(|span| span.status.is_none() && span.trace_id.len() == 16)
    );
}
