use std::time::{Duration, Instant};

use pegaflow_client::{LookupState, SchedulerClient};

use crate::fake::{Script, answer, no_hits};
use crate::stage::{HASH_BYTES, Stage, ask, count, eventually, hashes};

fn counter(scheduler: &SchedulerClient, name: &str) -> u64 {
    count(&scheduler.counters().unwrap(), name)
}

fn peek(scheduler: &SchedulerClient, request_id: &str) -> LookupState {
    let lookup = scheduler.lookup(request_id, hashes(1, 1), HASH_BYTES, Duration::ZERO);
    lookup.unwrap().state
}

#[test]
fn a_lookup_that_is_given_up_opens_it_and_a_probe_closes_it() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_impatient_scheduler(Script::default());
    eventually("an answer", || {
        ask(&scheduler, "before").state == LookupState::Ready
    });
    daemon.hang(true);
    let begun = Instant::now();
    assert_eq!(ask(&scheduler, "first").state, LookupState::Off);
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "it is given up after 0.5 s"
    );
    assert_eq!(counter(&scheduler, "breaker_opened"), 1);

    let (sent, begun) = (counter(&scheduler, "lookups"), Instant::now());
    for request in 0..1_000 {
        assert_eq!(
            ask(&scheduler, &format!("open {request}")).state,
            LookupState::Off
        );
    }
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "an open breaker does not wait"
    );
    assert_eq!(
        counter(&scheduler, "lookups"),
        sent,
        "an open breaker sends nothing"
    );
    assert_eq!(counter(&scheduler, "short_circuits"), 1_000);
    assert!(scheduler.attached().unwrap());

    daemon.hang(false);
    eventually("closed", || ask(&scheduler, "after").state == LookupState::Ready);
    assert!(daemon.seen(|seen| seen.probes) >= 1);
    assert_eq!(
        daemon.seen(|seen| seen.breaker_openings),
        1,
        "the daemon hears of it, once"
    );
    assert_eq!(daemon.seen(|seen| seen.attached.len()), 1, "the session stays");
}

#[test]
fn the_next_daemon_hears_of_openings_that_the_last_one_did_not() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_impatient_scheduler(Script::default());
    daemon.hang(true);
    assert_eq!(ask(&scheduler, "lost").state, LookupState::Off);
    assert_eq!(counter(&scheduler, "breaker_opened"), 1);
    drop(daemon);
    let next = stage.daemon(Script::default());
    eventually("the next one hears of it", || {
        next.seen(|seen| seen.breaker_openings) == 1
    });
    eventually("it is asked", || {
        ask(&scheduler, "again").state == LookupState::Ready
    });
    assert_eq!(next.seen(|seen| seen.breaker_openings), 1);
}

#[test]
fn lookups_under_way_are_off_as_soon_as_it_opens() {
    let stage = Stage::new();
    let daemon = stage.daemon(Script::default());
    // The second lookup is given up at least 1 s after the first.
    let deadline = Duration::from_secs(1);
    let scheduler = SchedulerClient::with_deadline(stage.scheduler_config(), deadline).unwrap();
    eventually("attached", || scheduler.attached().unwrap());
    daemon.hang(true);
    assert_eq!(peek(&scheduler, "first"), LookupState::AskAgain);
    eventually("late", || counter(&scheduler, "timeouts") == 1);
    assert_eq!(peek(&scheduler, "second"), LookupState::AskAgain);
    assert_eq!(ask(&scheduler, "first").state, LookupState::Off);
    assert_eq!(peek(&scheduler, "second"), LookupState::Off);
}

#[test]
fn an_answer_to_another_lookup_keeps_it_closed() {
    let stage = Stage::new();
    let script = Script {
        lookup: Box::new(|request| match request.request_id.as_str() {
            "lost" => Box::pin(std::future::pending()),
            _ => answer(Ok(no_hits())),
        }),
        ..Script::default()
    };
    let daemon = stage.daemon(script);
    // Given up after 2 s, which no answer takes.
    let deadline = Duration::from_millis(200);
    let scheduler = SchedulerClient::with_deadline(stage.scheduler_config(), deadline).unwrap();
    eventually("attached", || scheduler.attached().unwrap());
    assert_eq!(peek(&scheduler, "lost"), LookupState::AskAgain);
    eventually("asked", || daemon.seen(|seen| seen.lookups.len() == 1));
    eventually("an answer", || {
        ask(&scheduler, "other").state == LookupState::Ready
    });
    assert_eq!(ask(&scheduler, "lost").state, LookupState::Off);
    assert_eq!(counter(&scheduler, "given_up"), 1);
    assert_eq!(counter(&scheduler, "breaker_opened"), 0);
}
