use std::cell::RefCell;
use std::time::{Duration, Instant};

use bytes::Bytes;
use pegaflow_client::{ClientErrorKind, LeaseRef, LookupState, SchedulerClient};
use pegaflow_proto::v1::{LookupResponse, lookup_response};

use crate::fake::{BOOT, Script, answer, hits, no_hits};
use crate::stage::{HASH_BYTES, LIMIT, Stage, ask, count, eventually, hashes};

const NO_WAIT: Duration = Duration::ZERO;

fn answers(response: LookupResponse) -> Script {
    Script {
        lookup: Box::new(move |_| answer(Ok(response))),
        ..Script::default()
    }
}

/// Each lookup of a request gets a lease of its own: 101, 102, and so on.
fn leases() -> Script {
    let given = std::sync::atomic::AtomicU64::new(100);
    Script {
        lookup: Box::new(move |_| {
            answer(Ok(hits(
                1,
                given.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1,
            )))
        }),
        ..Script::default()
    }
}

#[test]
fn an_answer_says_where_the_blocks_are_and_who_leased_them() {
    let stage = Stage::new();
    let found = LookupResponse {
        memory_blocks: 3,
        ssd_blocks: 2,
        remote_blocks: 1,
        lease_id: 9,
        ..no_hits()
    };
    let (daemon, scheduler) = stage.attached_scheduler(answers(found));
    let lookup = scheduler.lookup("r", hashes(5, 6), HASH_BYTES, LIMIT).unwrap();
    assert_eq!(
        (lookup.state, lookup.lease_id, lookup.boot_id),
        (LookupState::Ready, 9, BOOT)
    );
    assert_eq!(
        (lookup.memory_blocks, lookup.ssd_blocks, lookup.remote_blocks),
        (3, 2, 1)
    );
    daemon.seen(|seen| {
        let request = &seen.lookups[0];
        assert_eq!(
            (request.request_id.as_str(), request.hash_bytes, request.group),
            ("r", HASH_BYTES, 0)
        );
        assert_eq!(request.hashes, hashes(5, 6));
    });
}

#[test]
fn the_same_question_is_asked_once() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_scheduler(leases());
    let first = ask(&scheduler, "r");
    assert_eq!(
        (0..50)
            .map(|_| ask(&scheduler, "r"))
            .find(|again| *again != first),
        None
    );
    assert_eq!(daemon.seen(|seen| seen.lookups.len()), 1);
}

#[test]
fn other_hashes_end_the_earlier_lookup_and_its_lease() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_scheduler(leases());
    assert_eq!(ask(&scheduler, "r").lease_id, 101);
    assert_eq!(
        scheduler
            .lookup("r", hashes(2, 1), HASH_BYTES, LIMIT)
            .unwrap()
            .lease_id,
        102
    );
    eventually("released", || daemon.seen(|seen| seen.released == [101]));
    assert_eq!(
        scheduler.take("r").unwrap(),
        Some(LeaseRef {
            lease_id: 102,
            boot_id: BOOT
        })
    );
}

#[test]
fn a_slow_answer_is_waited_for_briefly_and_found_later() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_scheduler(answers(hits(1, 7)));
    daemon.hang(true);
    let begun = Instant::now();
    let lookup = scheduler
        .lookup("r", hashes(1, 1), HASH_BYTES, Duration::from_millis(5))
        .unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(5));
    assert_eq!((lookup.state, lookup.lease_id), (LookupState::AskAgain, 0));
    daemon.hang(false);
    assert_eq!(ask(&scheduler, "r").lease_id, 7);
    assert_eq!(daemon.seen(|seen| seen.lookups.len()), 1);
}

#[test]
fn the_lease_in_an_answer_for_a_request_that_is_gone_is_released() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_scheduler(answers(hits(1, 7)));
    daemon.hang(true);
    scheduler.lookup("r", hashes(1, 1), HASH_BYTES, NO_WAIT).unwrap();
    scheduler.forget("r").unwrap();
    daemon.hang(false);
    eventually("released", || daemon.seen(|seen| seen.released == [7]));
    assert_eq!(scheduler.take("r").unwrap(), None);
}

#[test]
fn an_answer_to_earlier_hashes_is_not_taken_for_one_to_later_hashes() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_scheduler(leases());
    daemon.hang(true);
    scheduler.lookup("r", hashes(1, 1), HASH_BYTES, NO_WAIT).unwrap();
    scheduler.lookup("r", hashes(2, 1), HASH_BYTES, NO_WAIT).unwrap();
    eventually("both asked", || daemon.seen(|seen| seen.lookups.len() == 2));
    daemon.hang(false);
    let kept = scheduler
        .lookup("r", hashes(2, 1), HASH_BYTES, LIMIT)
        .unwrap()
        .lease_id;
    let other = 101 + 102 - kept;
    eventually("released", || daemon.seen(|seen| seen.released == [other]));
}

/// What the daemon finds comes some time after the deadline of these, and long before they give up.
fn late() -> (Duration, Script) {
    let deadline = Duration::from_millis(200);
    let script = Script {
        lookup: Box::new(move |_| {
            Box::pin(async move {
                tokio::time::sleep(deadline + deadline / 2).await;
                Ok(hits(1, 7))
            })
        }),
        ..Script::default()
    };
    (deadline, script)
}

#[test]
fn a_late_answer_is_asked_for_again_until_it_comes() {
    let stage = Stage::new();
    let (deadline, script) = late();
    let daemon = stage.daemon(script);
    let scheduler = SchedulerClient::with_deadline(stage.scheduler_config(), deadline).unwrap();
    eventually("attached", || scheduler.attached().unwrap());
    let states = RefCell::new(Vec::new());
    eventually("an answer", || {
        let wait = Duration::from_millis(5);
        let lookup = scheduler.lookup("r", hashes(1, 1), HASH_BYTES, wait).unwrap();
        states.borrow_mut().push(lookup.state);
        lookup.lease_id == 7
    });
    let states = states.into_inner();
    let (last, earlier) = states.split_last().unwrap();
    assert_eq!(*last, LookupState::Ready);
    assert!(earlier.iter().all(|state| *state == LookupState::AskAgain));
    let counters = scheduler.counters().unwrap();
    assert_eq!(count(&counters, "timeouts"), 1, "it came after the deadline");
    assert_eq!(count(&counters, "given_up"), 0);
    assert_eq!(count(&counters, "breaker_opened"), 0);
    assert_eq!(daemon.seen(|seen| seen.lookups.len()), 1);
}

#[test]
fn a_lookup_that_is_given_up_is_off_once_and_its_late_lease_is_released() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_impatient_scheduler(leases());
    daemon.hang(true);
    let begun = Instant::now();
    assert_eq!(ask(&scheduler, "r").state, LookupState::Off);
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "it is given up after 0.5 s"
    );
    daemon.hang(false);
    eventually("released", || daemon.seen(|seen| seen.released == [101]));
    eventually("asked anew", || ask(&scheduler, "r").lease_id >= 102);
}

#[test]
fn an_answer_after_giving_up_counts_for_a_request_that_was_not_told() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_impatient_scheduler(leases());
    daemon.hang(true);
    scheduler.lookup("r", hashes(1, 1), HASH_BYTES, NO_WAIT).unwrap();
    eventually("given up", || {
        count(&scheduler.counters().unwrap(), "given_up") == 1
    });
    daemon.hang(false);
    eventually("answered", || {
        count(&scheduler.counters().unwrap(), "answers") == 1
    });
    assert_eq!(ask(&scheduler, "r").lease_id, 101);
    assert_eq!(daemon.seen(|seen| seen.lookups.len()), 1);
}

#[test]
fn an_engine_still_starting_is_asked_for_again() {
    let stage = Stage::new();
    let asked = std::sync::atomic::AtomicU32::new(0);
    let script = Script {
        lookup: Box::new(move |_| {
            let first = asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst) < 2;
            answer(Ok(if first {
                LookupResponse {
                    state: lookup_response::State::EngineIncomplete.into(),
                    ..no_hits()
                }
            } else {
                hits(1, 7)
            }))
        }),
        ..Script::default()
    };
    let (daemon, scheduler) = stage.attached_scheduler(script);
    assert_eq!(ask(&scheduler, "r").state, LookupState::AskAgain);
    eventually("hits", || ask(&scheduler, "r").lease_id == 7);
    assert_eq!(daemon.seen(|seen| seen.lookups.len()), 3);
}

#[test]
fn no_lookup_names_more_blocks_than_one_load_can_have() {
    let stage = Stage::new();
    let script = Script {
        blocks_per_transfer: 10,
        ..Script::default()
    };
    let (daemon, scheduler) = stage.attached_scheduler(script);
    scheduler.lookup("r", hashes(1, 25), HASH_BYTES, LIMIT).unwrap();
    assert_eq!(
        daemon.seen(|seen| seen.lookups[0].hashes.len()),
        10 * HASH_BYTES as usize
    );
}

#[test]
fn blocks_without_a_lease_are_no_hits() {
    let stage = Stage::new();
    let (_daemon, scheduler) = stage.attached_scheduler(answers(hits(5, 0)));
    let lookup = ask(&scheduler, "r");
    assert_eq!((lookup.state, lookup.memory_blocks), (LookupState::Ready, 0));
}

#[test]
fn an_error_of_the_daemon_is_off() {
    let stage = Stage::new();
    let script = Script {
        lookup: Box::new(|_| answer(Err(tonic::Status::resource_exhausted("too many leases")))),
        ..Script::default()
    };
    let (daemon, scheduler) = stage.attached_scheduler(script);
    assert_eq!(ask(&scheduler, "r").state, LookupState::Off);
    assert_eq!(ask(&scheduler, "r").state, LookupState::Off);
    assert_eq!(
        daemon.seen(|seen| (seen.lookups.len(), seen.attached.len())),
        (2, 1)
    );
}

#[test]
fn without_a_daemon_every_lookup_is_off_at_once() {
    let scheduler = Stage::new().scheduler();
    let begun = Instant::now();
    for request in 0..100 {
        assert_eq!(ask(&scheduler, &request.to_string()).state, LookupState::Off);
    }
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(count(&scheduler.counters().unwrap(), "lookups"), 0);
    assert_eq!(count(&scheduler.counters().unwrap(), "short_circuits"), 100);
}

#[test]
fn no_hashes_are_no_hits_and_parts_of_hashes_are_a_mistake() {
    let scheduler = Stage::new().scheduler();
    let none = scheduler.lookup("r", Bytes::new(), HASH_BYTES, LIMIT);
    assert_eq!(none.unwrap().state, LookupState::Ready);
    for (bytes, hash_bytes) in [(33, 32), (31, 32), (7, 7), (33, 33), (32, 0)] {
        let error = scheduler
            .lookup("r", vec![0; bytes].into(), hash_bytes, LIMIT)
            .unwrap_err();
        assert_eq!(error.kind(), ClientErrorKind::Config);
    }
}

#[test]
fn many_threads_find_their_own_answers() {
    let stage = Stage::new();
    let script = Script {
        lookup: Box::new(|request| answer(Ok(hits(1, request.request_id.parse().unwrap())))),
        ..Script::default()
    };
    let (_daemon, scheduler) = stage.attached_scheduler(script);
    std::thread::scope(|scope| {
        for thread in 1..=4 {
            let scheduler = &scheduler;
            scope.spawn(move || {
                for request in 0..200 {
                    let lease = thread * 1_000 + request;
                    let lookup = ask(scheduler, &lease.to_string());
                    assert_eq!(lookup.lease_id, lease);
                }
            });
        }
    });
}
