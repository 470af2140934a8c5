use pegaflow_client::{LeaseRef, LookupState};

use crate::fake::{BOOT, Script, answer, hits};
use crate::stage::{Stage, ask, count, eventually};

/// A lease with the number that is the request's name, which ends soon unless it is renewed.
fn script() -> Script {
    Script {
        lease_ttl_ms: 90,
        lookup: Box::new(|request| answer(Ok(hits(1, request.request_id.parse().unwrap())))),
        ..Script::default()
    }
}

#[test]
fn a_lease_is_taken_once() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_scheduler(script());
    ask(&scheduler, "7");
    assert_eq!(count(&scheduler.counters().unwrap(), "leases_held"), 1);
    assert_eq!(
        scheduler.take("7").unwrap(),
        Some(LeaseRef {
            lease_id: 7,
            boot_id: BOOT
        })
    );
    assert_eq!(scheduler.take("7").unwrap(), None);
    assert_eq!(count(&scheduler.counters().unwrap(), "leases_held"), 0);

    scheduler.forget("7").unwrap();
    ask(&scheduler, "8");
    scheduler.forget("8").unwrap();
    eventually("released", || daemon.seen(|seen| !seen.released.is_empty()));
    assert_eq!(
        daemon.seen(|seen| seen.released.clone()),
        [8],
        "a lease that was taken belongs to its load"
    );
}

#[test]
fn a_lease_that_will_not_be_loaded_is_given_back() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_scheduler(script());
    ask(&scheduler, "7");
    let lease = scheduler.take("7").unwrap().unwrap();
    scheduler
        .release(LeaseRef {
            boot_id: lease.boot_id + 1,
            lease_id: 99,
        })
        .unwrap();
    scheduler.release(lease).unwrap();
    eventually("released", || daemon.seen(|seen| !seen.released.is_empty()));
    assert_eq!(
        daemon.seen(|seen| seen.released.clone()),
        [7],
        "a lease of another daemon has ended with it"
    );
}

#[test]
fn every_lease_of_many_is_released() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_scheduler(script());
    let requests: Vec<u64> = (1..=200).collect();
    for request in &requests {
        ask(&scheduler, &request.to_string());
    }
    daemon.hang(true);
    for request in &requests {
        scheduler.forget(&request.to_string()).unwrap();
    }
    daemon.hang(false);
    eventually("released", || {
        let mut released = daemon.seen(|seen| seen.released.clone());
        released.sort_unstable();
        released.dedup();
        released == requests
    });
}

#[test]
fn leases_are_renewed_until_they_are_taken() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_scheduler(script());
    ask(&scheduler, "7");
    ask(&scheduler, "8");
    eventually("both renewed twice", || {
        daemon.seen(|seen| {
            [7, 8]
                .iter()
                .all(|id| seen.renewed.iter().filter(|renewed| *renewed == id).count() >= 2)
        })
    });
    scheduler.take("8").unwrap().unwrap();
    let renewals =
        |id: u64| daemon.seen(|seen| seen.renewed.iter().filter(|&&renewed| renewed == id).count());
    // One renewal may have been under way.
    let (taken, kept) = (renewals(8) + 1, renewals(7));
    eventually("the other one renewed", || renewals(7) >= kept + 3);
    assert!(renewals(8) <= taken);
}

#[test]
fn a_lease_that_ended_at_the_daemon_is_asked_for_anew() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_scheduler(script());
    ask(&scheduler, "7");
    daemon.seen(|seen| seen.ended_leases.push(7));
    eventually("dropped", || {
        count(&scheduler.counters().unwrap(), "leases_held") == 0
    });
    assert_eq!(scheduler.take("7").unwrap(), None);
    assert_eq!(ask(&scheduler, "7").state, LookupState::Ready);
    assert_eq!(daemon.seen(|seen| seen.lookups.len()), 2);
}

#[test]
fn a_lease_ends_with_its_session() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_scheduler(script());
    ask(&scheduler, "7");
    drop(daemon);
    eventually("lost", || !scheduler.attached().unwrap());
    assert_eq!(scheduler.take("7").unwrap(), None);
    let daemon = stage.daemon(Script {
        boot_id: BOOT + 1,
        ..script()
    });
    eventually("attached again", || scheduler.attached().unwrap());
    scheduler
        .release(LeaseRef {
            lease_id: 7,
            boot_id: BOOT,
        })
        .unwrap();
    ask(&scheduler, "8");
    scheduler.forget("8").unwrap();
    eventually("asked", || daemon.seen(|seen| !seen.lookups.is_empty()));
    assert!(daemon.seen(|seen| !seen.released.contains(&7)));
}
