use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pegaflow_core::self_test::SelfTest;

use super::watch::Seen;
use super::*;
use crate::status::State;

fn add(log: &EventLog, text: impl Into<String>) {
    log.add(EventKind::Daemon, EventLevel::Ok, None, text);
}

fn page(log: &EventLog, after: u64) -> serde_json::Value {
    serde_json::to_value(log.after(after, "00".to_owned())).unwrap()
}

fn texts(log: &EventLog) -> Vec<String> {
    let page = page(log, 0);
    let events = page["events"].as_array().unwrap();
    events
        .iter()
        .map(|event| event["text"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn numbers_have_no_gap_whoever_adds() {
    let log = Arc::new(EventLog::new());
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let log = Arc::clone(&log);
            thread::spawn(move || (0..200).for_each(|_| add(&log, "x")))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let page = page(&log, 0);
    let numbers: Vec<_> = page["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["sequence"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=800).collect::<Vec<_>>());
}

#[test]
fn a_reader_gets_each_event_once_in_pages() {
    let log = EventLog::new();
    (0..2_500).for_each(|number| add(&log, number.to_string()));
    let (mut after, mut seen) = (0, Vec::new());
    loop {
        let page = page(&log, after);
        assert_eq!(page["lost"], 0);
        let events = page["events"].as_array().unwrap();
        if events.is_empty() {
            break;
        }
        seen.extend(
            events
                .iter()
                .map(|event| event["text"].as_str().unwrap().to_owned()),
        );
        after = page["last"].as_u64().unwrap();
    }
    assert_eq!(
        seen,
        (0..2_500).map(|number| number.to_string()).collect::<Vec<_>>()
    );
}

#[test]
fn what_is_not_kept_any_more_is_counted() {
    let log = EventLog::new();
    (0..KEPT + 10).for_each(|_| add(&log, "x"));
    assert_eq!(page(&log, 0)["lost"], 10);
    assert_eq!(page(&log, 7)["lost"], 3);
    assert_eq!(page(&log, 10)["lost"], 0);
    let last = (KEPT + 10) as u64;
    assert_eq!(
        (&page(&log, last)["lost"], &page(&log, last)["last"]),
        (&0.into(), &last.into())
    );
}

#[tokio::test]
async fn a_wait_ends_with_the_next_event_or_with_its_time() {
    let log = Arc::new(EventLog::new());
    log.wait_after(0, Duration::ZERO).await;
    let waiting = {
        let log = Arc::clone(&log);
        tokio::spawn(async move { log.wait_after(0, Duration::from_secs(3_600)).await })
    };
    tokio::task::yield_now().await;
    add(&log, "x");
    waiting.await.unwrap();
    log.wait_after(0, Duration::from_secs(3_600)).await;
}

#[test]
fn changes_are_told_once() {
    let (log, mut watch) = (EventLog::new(), EventWatch::default());
    let ready = Seen {
        state: Some(State::Ready),
        paths: [("/mnt/a".to_owned(), ("online", None))].into(),
        self_tests: vec![SelfTest {
            copy_path: "host".to_owned(),
            bytes: 1 << 20,
            duration: Duration::from_millis(2),
            error: None,
        }],
        ..Seen::default()
    };
    watch.compare(ready.clone(), &log);
    watch.compare(ready.clone(), &log);
    assert_eq!(
        texts(&log),
        [
            "the daemon is ready",
            "ssd path /mnt/a is online",
            "host copies passed their self-test: 1048576 bytes in 2.0 ms",
        ]
    );
    let lost = ("offline", Some("it is gone".to_owned()));
    let degraded = Seen {
        state: Some(State::Degraded),
        reasons: vec!["ssd path /mnt/a is offline: it is gone".to_owned()],
        paths: [("/mnt/a".to_owned(), lost)].into(),
        corrupt_blocks: 2,
        ..ready.clone()
    };
    watch.compare(degraded, &log);
    watch.compare(
        Seen {
            paths: [].into(),
            corrupt_blocks: 2,
            ..ready
        },
        &log,
    );
    assert_eq!(
        texts(&log)[3..],
        [
            "the daemon is degraded: ssd path /mnt/a is offline: it is gone",
            "ssd path /mnt/a is offline, was online: it is gone",
            "2 corrupt blocks dropped: the bytes were not those that were saved",
            "the daemon is ready",
            "ssd path /mnt/a left the tier",
        ]
    );
}

#[test]
fn only_evictions_of_size_are_told_once_a_minute() {
    let evicted_in_the_second_minute = |evicted: u64| {
        let (log, mut watch) = (EventLog::new(), EventWatch::default());
        for look in 0..180 {
            let evictions = if look < 90 { 0 } else { evicted };
            let seen = Seen {
                blocks: 900,
                evictions,
                ..Seen::default()
            };
            watch.compare(seen, &log);
        }
        texts(&log)
    };
    assert!(evicted_in_the_second_minute(99).is_empty());
    assert_eq!(
        evicted_in_the_second_minute(100),
        ["100 blocks evicted within a minute, 900 in memory now"]
    );
}
