//! Metrics and traces, as a receiver of OTLP gets them.

use std::net::TcpListener as StdListener;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::metrics::v1::{metric::Data, number_data_point};
use opentelemetry_proto::tonic::trace::v1::Span;

use crate::support::engine::{Engine, Shape, fresh_hashes};
use crate::support::otlp_receiver::Receiver;
use crate::support::{Daemon, eventually, metrics};

fn exporting(endpoint: &str) -> Daemon {
    Daemon::start_with(|config| config.otlp_endpoint = Some(endpoint.to_owned()))
}

fn number(span: &Span, key: &str) -> i64 {
    match value(&span.attributes, key) {
        Value::IntValue(number) => number,
        other => panic!("{key} is {other:?}"),
    }
}

fn value(attributes: &[KeyValue], key: &str) -> Value {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    found
        .and_then(|found| found.value.clone()?.value)
        .unwrap_or_else(|| panic!("no {key} in {attributes:?}"))
}

#[tokio::test]
async fn the_calls_of_a_request_are_spans_with_its_id() {
    let (receiver, endpoint) = Receiver::start();
    let daemon = exporting(&endpoint);
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let hashes = fresh_hashes(5);
    engine.save(&hashes[..3], &[0, 1, 2]).await;
    let lease = engine.lookup(&hashes).await.lease_id;
    engine.workers[0].load(lease, 1, &[9, 8]).await.unwrap();
    eventually("all spans are sent", async || {
        ["pegaflow.save", "pegaflow.lookup", "pegaflow.load"]
            .iter()
            .all(|name| receiver.span(name).is_some())
    })
    .await;

    let save = receiver.span("pegaflow.save").unwrap();
    assert_eq!(
        (number(&save, "pegaflow.saved"), number(&save, "pegaflow.blocks")),
        (3, 3)
    );
    let lookup = receiver.span("pegaflow.lookup").unwrap();
    assert_eq!(
        (
            number(&lookup, "pegaflow.memory"),
            number(&lookup, "pegaflow.miss")
        ),
        (3, 2)
    );
    let load = receiver.span("pegaflow.load").unwrap();
    assert_eq!(
        value(&load.attributes, "pegaflow.outcome"),
        Value::StringValue("loaded".to_owned())
    );
    for span in [&save, &lookup, &load] {
        assert!(span.status.is_none(), "{span:?}");
        assert!(span.end_time_unix_nano >= span.start_time_unix_nano);
        assert!(matches!(
            value(&span.attributes, "pegaflow.request_id"),
            Value::StringValue(_)
        ));
        assert_eq!(
            value(&span.attributes, "pegaflow.engine_id"),
            Value::StringValue("test-engine".to_owned())
        );
    }
    let resource = receiver.resource.lock().clone();
    assert_eq!(
        value(&resource, "service.name"),
        Value::StringValue("pegaflow".to_owned())
    );
    assert_eq!(
        value(&resource, "service.instance.id"),
        Value::StringValue(daemon.ready.boot_id.clone())
    );
}

#[tokio::test]
async fn a_call_that_fails_is_a_span_with_the_reason() {
    let (receiver, endpoint) = Receiver::start();
    let daemon = exporting(&endpoint);
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    engine.save(&fresh_hashes(1), &[0]).await;
    // No block has this number.
    assert!(engine.workers[0].load(1, 1, &[u32::MAX]).await.is_err());
    eventually("the failure is sent", async || {
        receiver.span("pegaflow.load").is_some()
    })
    .await;
    let status = receiver.span("pegaflow.load").unwrap().status.unwrap();
    assert_eq!(status.message, "the call was refused or given up");
}

#[tokio::test]
async fn metrics_are_those_of_the_exposition() {
    let (receiver, endpoint) = Receiver::start();
    let daemon = exporting(&endpoint);
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    let hashes = fresh_hashes(4);
    engine.save(&hashes[..3], &[0, 1, 2]).await;
    engine.lookup(&hashes).await;
    drop(engine);
    let shown = metrics(&daemon.ready.http_addr);
    // The last export comes with the end.
    daemon.stop().await;

    let received = receiver.metrics.lock().clone();
    let sum = |name: &str| -> f64 {
        let metric = received.iter().find(|metric| metric.name == name);
        let Some(Data::Sum(sum)) = metric.and_then(|metric| metric.data.clone()) else {
            panic!("no sum {name} was received");
        };
        let values = sum.data_points.iter().map(|point| match point.value {
            Some(number_data_point::Value::AsDouble(value)) => value,
            other => panic!("{other:?}"),
        });
        values.sum()
    };
    assert_eq!(sum("pegaflow_cache_blocks_requested_total"), 4.0);
    let names: Vec<&str> = received.iter().map(|metric| metric.name.as_str()).collect();
    for series in shown.keys() {
        let name = series.split('{').next().unwrap();
        let is_there = ["", "_bucket", "_sum", "_count"].iter().any(|ending| {
            name.strip_suffix(ending)
                .is_some_and(|name| names.contains(&name))
        });
        assert!(is_there, "{series} was not received");
    }
}

#[tokio::test]
async fn an_endpoint_that_hangs_or_is_not_there_costs_spans_and_nothing_else() {
    // One accepts connections and never says anything, the other refuses them.
    let hanging = StdListener::bind("127.0.0.1:0").unwrap();
    let refusing = StdListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for endpoint in [hanging.local_addr().unwrap(), refusing] {
        let daemon = exporting(&format!("http://{endpoint}"));
        let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
        let hashes = fresh_hashes(3);
        engine.save(&hashes, &[0, 1, 2]).await;
        assert_ne!(engine.lookup(&hashes).await.lease_id, 0);
        drop(engine);
        let began = Instant::now();
        daemon.stop().await;
        assert!(began.elapsed() < Duration::from_secs(30), "{endpoint}");
    }
}

#[tokio::test]
async fn what_was_not_sent_is_counted() {
    let refusing = StdListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let daemon = exporting(&format!("http://{refusing}"));
    let mut engine = Engine::start(daemon.socket(), &Shape::new()).await;
    engine.save(&fresh_hashes(2), &[0, 1]).await;
    eventually("the span is given up", async || {
        let shown = metrics(&daemon.ready.http_addr);
        shown["pegaflow_otlp_spans_dropped_total"] >= 1.0
            && shown["pegaflow_otlp_exports_failed_total"] >= 1.0
    })
    .await;
}
