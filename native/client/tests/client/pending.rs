//! Blocks on their way from a slower tier: the client asks for them by itself, and says when nobody wants them any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use pegaflow_client::LookupState;
use pegaflow_proto::v1::{LookupResponse, lookup_response};

use crate::fake::{Script, answer, hits, no_hits};
use crate::stage::{HASH_BYTES, LIMIT, Stage, ask, eventually, hashes};

/// A daemon that says "pending" until `has_come`; then each lookup has a lease of its own number plus 100.
fn script(has_come: &Arc<AtomicBool>) -> Script {
    let has_come = Arc::clone(has_come);
    Script {
        lookup: Box::new(move |request| {
            answer(Ok(if has_come.load(SeqCst) {
                hits(1, 100 + request.lookup_id)
            } else {
                LookupResponse {
                    state: lookup_response::State::Pending.into(),
                    ..no_hits()
                }
            }))
        }),
        ..Script::default()
    }
}

#[test]
fn they_are_asked_for_without_the_caller_who_never_waits() {
    let stage = Stage::new();
    let has_come = Arc::default();
    let (daemon, scheduler) = stage.attached_scheduler(script(&has_come));
    // With a wait that the test would not survive.
    let long = Duration::from_secs(3600);
    let state = || {
        scheduler
            .lookup("r", hashes(1, 2), HASH_BYTES, long)
            .unwrap()
            .state
    };
    assert_eq!(state(), LookupState::Pending);
    eventually("asked again", || daemon.seen(|seen| seen.lookups.len() > 5));
    assert_eq!(state(), LookupState::Pending);
    has_come.store(true, SeqCst);
    eventually("hits", || state() == LookupState::Ready);
    daemon.seen(|seen| {
        let id = seen.lookups[0].lookup_id;
        assert_ne!(id, 0);
        assert!(
            seen.lookups
                .iter()
                .all(|asked| asked.lookup_id == id && asked.hashes == hashes(1, 2))
        );
        assert!(seen.ended_lookups.is_empty());
    });
    let asked = daemon.seen(|seen| seen.lookups.len());
    assert!(scheduler.take("r").unwrap().is_some());
    assert_eq!(
        daemon.seen(|seen| seen.lookups.len()),
        asked,
        "an answer is not asked for"
    );
}

#[test]
fn a_request_that_is_gone_is_asked_for_no_more() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_scheduler(script(&Arc::default()));
    assert_eq!(ask(&scheduler, "r").state, LookupState::Pending);
    scheduler.forget("r").unwrap();
    let id = daemon.seen(|seen| seen.lookups[0].lookup_id);
    eventually("the daemon is told", || {
        daemon.seen(|seen| seen.ended_lookups == [id])
    });
    let asked = daemon.seen(|seen| seen.lookups.len());
    // Others are asked for meanwhile, so an unwanted call would have come too.
    assert_eq!(ask(&scheduler, "other").state, LookupState::Pending);
    eventually("others are asked for", || {
        daemon.seen(|seen| seen.lookups.len() > asked + 5)
    });
    daemon.seen(|seen| {
        let of_r = seen.lookups[asked..].iter().filter(|asked| asked.lookup_id == id);
        assert_eq!(of_r.count(), 0);
    });
}

#[test]
fn other_hashes_end_the_lookup_of_the_first() {
    let stage = Stage::new();
    let has_come = Arc::default();
    let (daemon, scheduler) = stage.attached_scheduler(script(&has_come));
    assert_eq!(ask(&scheduler, "r").state, LookupState::Pending);
    let first = daemon.seen(|seen| seen.lookups[0].lookup_id);
    let second = || scheduler.lookup("r", hashes(2, 1), HASH_BYTES, LIMIT).unwrap();
    assert_eq!(second().state, LookupState::Pending);
    eventually("the first ends", || {
        daemon.seen(|seen| seen.ended_lookups == [first])
    });
    has_come.store(true, SeqCst);
    eventually("hits", || second().state == LookupState::Ready);
    assert_ne!(second().lease_id, 100 + first);
}

#[test]
fn the_daemon_hears_how_long_a_block_takes_to_compute() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_scheduler(Script::default());
    ask(&scheduler, "before");
    scheduler
        .set_block_compute(Some(Duration::from_micros(250)))
        .unwrap();
    ask(&scheduler, "after");
    let told = daemon.seen(|seen| {
        let told = seen.lookups.iter().map(|asked| asked.block_compute_ns);
        told.collect::<Vec<_>>()
    });
    assert_eq!(told, [None, Some(250_000)]);
}
