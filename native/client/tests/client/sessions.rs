use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pegaflow_client::LookupState;
use pegaflow_core::process::ProcessIdentity;
use pegaflow_proto::v1::{LookupResponse, ProtocolVersion, attach_request};
use tonic::Status;

use crate::fake::{BOOT, Script, answer, no_hits};
use crate::stage::{Stage, ask, count, eventually, hashes};

#[test]
fn a_daemon_that_comes_later_is_found_within_three_seconds() {
    let stage = Stage::new();
    let (scheduler, worker) = (stage.scheduler(), stage.worker());
    worker.identify([1; 16], [2; 32]).unwrap();
    // Long enough for the delay between attempts to have grown.
    std::thread::sleep(Duration::from_millis(2_500));
    assert!(!scheduler.attached().unwrap() && !worker.attached().unwrap());
    let _daemon = stage.daemon(Script::default());
    let started = Instant::now();
    eventually("attached", || {
        scheduler.attached().unwrap() && worker.attached().unwrap()
    });
    assert!(
        started.elapsed() < Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn both_sides_say_who_they_are() {
    let stage = Stage::new();
    let daemon = stage.daemon(Script::default());
    let (scheduler, worker) = (stage.scheduler(), stage.worker());
    worker.identify([1; 16], [2; 32]).unwrap();
    eventually("attached", || {
        scheduler.attached().unwrap() && worker.attached().unwrap()
    });
    daemon.seen(|seen| {
        for request in &seen.attached {
            assert_eq!(
                (&request.engine_key[..], request.engine_id.as_str()),
                (&[1; 16][..], "engine")
            );
            match request.role.as_ref().unwrap() {
                attach_request::Role::Scheduler(role) => {
                    assert_eq!(
                        (&role.namespace[..], role.model.as_str()),
                        (&[2; 32][..], "model")
                    );
                    assert_eq!((role.workers, role.shards), (1, 1));
                }
                attach_request::Role::Worker(role) => assert_eq!((role.rank, role.shard), (0, 0)),
            }
        }
        let registration = &seen.registrations[0];
        assert_eq!(
            (&registration.namespace[..], registration.hash_bytes),
            (&[2; 32][..], 32)
        );
        let group = &registration.groups[0];
        assert_eq!((group.group, group.num_blocks, group.layers.len()), (0, 64, 1));
        let layer = &group.layers[0];
        assert_eq!(
            (layer.name.as_str(), layer.base_address, layer.block_stride),
            ("l0", 4096, 64)
        );
        assert_eq!(
            layer
                .segments
                .iter()
                .map(|s| (s.offset, s.length))
                .collect::<Vec<_>>(),
            [(0, 32), (32, 32)]
        );
    });
}

/// A daemon with this boot id in every answer.
fn booted(boot_id: u64) -> Script {
    let lookup = move |_| answer(Ok(LookupResponse { boot_id, ..no_hits() }));
    Script {
        boot_id,
        lookup: Box::new(lookup),
        ..Script::default()
    }
}

#[test]
fn a_daemon_that_is_started_again_is_attached_to_again() {
    let stage = Stage::new();
    let (mut daemon, scheduler) = stage.attached_scheduler(booted(1));
    let worker = stage.worker();
    worker.identify([1; 16], [2; 32]).unwrap();
    for boot_id in 2..=4 {
        drop(daemon);
        daemon = stage.daemon(booted(boot_id));
        let started = Instant::now();
        eventually("attached", || {
            ask(&scheduler, &boot_id.to_string()).boot_id == boot_id
        });
        eventually("registered", || {
            daemon.seen(|seen| seen.registrations.len() == 1) && worker.attached().unwrap()
        });
        assert!(
            started.elapsed() < Duration::from_secs(3),
            "{:?}",
            started.elapsed()
        );
    }
    assert_eq!(count(&scheduler.counters().unwrap(), "attaches"), 4);
}

#[test]
fn an_answer_with_another_boot_id_ends_the_session() {
    let stage = Stage::new();
    let script = Script {
        boot_id: BOOT + 1,
        ..Script::default()
    };
    let (daemon, scheduler) = stage.attached_scheduler(script);
    // The default lookup answers with the boot id that the session does not have.
    ask(&scheduler, "r");
    eventually("attached again", || daemon.seen(|seen| seen.attached.len() >= 2));
}

#[test]
fn a_daemon_that_does_not_know_the_session_is_attached_to_again() {
    let stage = Stage::new();
    let asked = AtomicU32::new(0);
    let script = Script {
        lookup: Box::new(move |_| {
            let first = asked.fetch_add(1, Ordering::SeqCst) == 0;
            answer(if first {
                Err(Status::not_found("session 1 is not known"))
            } else {
                Ok(no_hits())
            })
        }),
        save: Box::new(|_| answer(Err(Status::not_found("registration 1 is not known")))),
        ..Script::default()
    };
    let (daemon, scheduler) = stage.attached_scheduler(script);
    assert_eq!(ask(&scheduler, "r").state, LookupState::Off);
    eventually("attached again", || {
        ask(&scheduler, "r").state == LookupState::Ready
    });
    assert_eq!(daemon.seen(|seen| seen.attached.len()), 2);

    let worker = stage.worker();
    worker.identify([1; 16], [2; 32]).unwrap();
    eventually("registered", || worker.attached().unwrap());
    worker
        .save("r", hashes(1, 1), Bytes::new(), vec![0], None)
        .unwrap()
        .unwrap();
    eventually("registered again", || {
        daemon.seen(|seen| seen.registrations.len() == 2)
    });
}

#[test]
fn a_draining_daemon_gets_nothing_new() {
    let stage = Stage::new();
    let (daemon, scheduler) = stage.attached_scheduler(Script::default());
    let worker = stage.worker();
    worker.identify([1; 16], [2; 32]).unwrap();
    eventually("registered", || worker.attached().unwrap());
    daemon.drain();
    let request = AtomicU32::new(0);
    eventually("lookups are off", || {
        ask(&scheduler, &request.fetch_add(1, Ordering::SeqCst).to_string()).state == LookupState::Off
    });
    eventually("saves are off", || {
        worker
            .save("r", hashes(1, 1), Bytes::new(), vec![0], None)
            .unwrap()
            .is_none()
    });
    assert!(scheduler.attached().unwrap() && worker.attached().unwrap());
}

#[test]
fn a_daemon_that_says_it_is_another_process_is_refused() {
    let stage = Stage::new();
    let identity = ProcessIdentity {
        pid: 1,
        start_time_ticks: 0,
    };
    let _daemon = stage.daemon(Script {
        identity: Some(identity),
        ..Script::default()
    });
    let worker = stage.worker();
    worker.identify([1; 16], [2; 32]).unwrap();
    eventually("refused", || {
        worker
            .last_error()
            .unwrap()
            .is_some_and(|error| error.contains("pid namespace"))
    });
    assert!(!worker.attached().unwrap());
}

#[test]
fn another_minor_version_is_understood_and_another_major_one_is_refused() {
    for (version, understood) in [((1, 99), true), ((2, 0), false)] {
        let stage = Stage::new();
        let version = ProtocolVersion {
            major: version.0,
            minor: version.1,
        };
        let _daemon = stage.daemon(Script {
            version,
            ..Script::default()
        });
        let worker = stage.worker();
        worker.identify([1; 16], [2; 32]).unwrap();
        eventually("told", || {
            worker.attached().unwrap() || worker.last_error().unwrap().is_some()
        });
        assert_eq!(
            worker.attached().unwrap(),
            understood,
            "{:?}",
            worker.last_error()
        );
    }
}

#[test]
fn a_refused_registration_is_told_in_the_daemon_s_words_until_it_succeeds() {
    let stage = Stage::new();
    let asked = AtomicU32::new(0);
    let script = Script {
        register: Box::new(move |_| {
            let first = asked.fetch_add(1, Ordering::SeqCst) == 0;
            answer(if first {
                Err(Status::failed_precondition("the namespace has other pages"))
            } else {
                Ok(())
            })
        }),
        ..Script::default()
    };
    let _daemon = stage.daemon(script);
    let worker = stage.worker();
    worker.identify([1; 16], [2; 32]).unwrap();
    eventually("told", || worker.last_error().unwrap().is_some());
    assert_eq!(
        worker.last_error().unwrap().unwrap(),
        "the namespace has other pages"
    );
    eventually("registered", || worker.attached().unwrap());
    assert_eq!(worker.last_error().unwrap(), None);
}

#[test]
fn a_worker_is_registered_once_for_each_engine_that_it_is_told_of() {
    let stage = Stage::new();
    let (daemon, worker) = stage.registered_worker(Script::default());
    worker.identify([1; 16], [2; 32]).unwrap();
    worker
        .save("r", hashes(1, 1), Bytes::new(), vec![0], None)
        .unwrap()
        .unwrap();
    eventually("saved", || worker.poll().unwrap().len() == 1);
    assert_eq!(daemon.seen(|seen| seen.registrations.len()), 1);

    worker.identify([1; 16], [3; 32]).unwrap();
    eventually("registered again", || {
        daemon.seen(|seen| seen.registrations.len() == 2) && worker.attached().unwrap()
    });
    assert_eq!(
        daemon.seen(|seen| seen.registrations[1].namespace.clone()),
        &[3; 32][..]
    );
}

#[test]
fn a_closed_client_answers_as_without_a_daemon() {
    let stage = Stage::new();
    let (_daemon, scheduler) = stage.attached_scheduler(Script::default());
    let worker = stage.worker();
    worker.identify([1; 16], [2; 32]).unwrap();
    eventually("registered", || worker.attached().unwrap());
    for _ in 0..2 {
        scheduler.close().unwrap();
        worker.close().unwrap();
        assert!(!scheduler.attached().unwrap() && !worker.attached().unwrap());
        assert_eq!(ask(&scheduler, "r").state, LookupState::Off);
        assert_eq!(
            worker
                .save("r", hashes(1, 1), Bytes::new(), vec![0], None)
                .unwrap(),
            None
        );
    }
}
