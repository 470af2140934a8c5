use std::time::{Duration, Instant};

use pegaflow_client::{LookupState, SchedulerClient};

use crate::fake::Script;
use crate::stage::{Stage, ask, count, eventually};

fn counter(scheduler: &SchedulerClient, name: &str) -> u64 {
    count(&scheduler.counters().unwrap(), name)
}

#[test]
fn three_overdue_lookups_open_it_and_a_probe_closes_it() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_impatient_scheduler(Script::default());
    eventually("an answer", || {
        ask(&scheduler, "before").state == LookupState::Ready
    });
    daemon.hang(true);
    for request in 1..=3 {
        assert_eq!(ask(&scheduler, &request.to_string()).state, LookupState::Off);
    }
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
    assert_eq!(daemon.seen(|seen| seen.attached.len()), 1, "the session stays");
}

#[test]
fn an_answer_in_between_keeps_it_closed() {
    let stage = Stage::new();
    let daemon = stage.daemon(Script::default());
    // Long enough for an answer on a busy machine.
    let scheduler =
        SchedulerClient::with_deadline(stage.scheduler_config(), Duration::from_millis(500)).unwrap();
    eventually("attached", || scheduler.attached().unwrap());
    for round in 0..2 {
        daemon.hang(true);
        for request in 0..2 {
            assert_eq!(
                ask(&scheduler, &format!("{round} {request}")).state,
                LookupState::Off
            );
        }
        daemon.hang(false);
        assert_eq!(ask(&scheduler, &format!("{round}")).state, LookupState::Ready);
    }
    assert_eq!(counter(&scheduler, "timeouts"), 4);
    assert_eq!(counter(&scheduler, "breaker_opened"), 0);
}
