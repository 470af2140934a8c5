use prometheus_client::encoding::prometheus_text::encode;
use prometheus_client::registry::Registry;

use super::*;

fn ended(metrics: &OperationMetrics, name: &str, result: &str) -> bool {
    let mut registry = Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    encode(&mut text, &registry).unwrap();
    text.contains(&format!(
        "operations_total{{operation=\"{name}\",result=\"{result}\"}} 1"
    ))
}

#[test]
fn each_has_a_place_until_its_end_whatever_that_is() {
    let metrics = OperationMetrics::default();
    let operations = Arc::new(Operations::new(metrics.clone()));
    let progress = Arc::new(Progress::default());
    progress.expect(10, 1_000);
    let first = operations.begin("warm", &progress).unwrap();
    let second = operations.begin("tier-flush", &Arc::default()).unwrap();
    progress.advance(4, 400);
    let running = operations.snapshot();
    let names: Vec<_> = running.iter().map(|one| one.name).collect();
    assert_eq!(names, ["warm", "tier-flush"]);
    assert_eq!(
        (running[0].progress.blocks, running[0].progress.bytes_expected),
        (4, 1_000)
    );
    first.end("done");
    assert_eq!(operations.snapshot()[0].name, "tier-flush");
    assert!(ended(&metrics, "warm", "done"));
    // As after a panic of its thread.
    drop(second);
    assert_eq!(operations.count(), 0);
    assert!(ended(&metrics, "tier-flush", "failed"));
}

#[test]
fn no_more_than_so_many_run_at_once() {
    let metrics = OperationMetrics::default();
    let operations = Arc::new(Operations::new(metrics.clone()));
    let begin = || operations.begin("warm", &Arc::default());
    let mut places: Vec<_> = (0..RUNNING_MAX).map(|_| begin().unwrap()).collect();
    assert_eq!(begin().unwrap_err().kind(), ErrorKind::Limit);
    assert!(ended(&metrics, "warm", "refused"));
    places.remove(3).end("done");
    places.push(begin().unwrap());
    assert_eq!(operations.count(), RUNNING_MAX);
}
