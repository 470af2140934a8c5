use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pegaflow_client::{ClientErrorKind, TransferEnd, TransferKind, WorkerClient};
use pegaflow_core::grant::GrantFile;
use pegaflow_proto::v1::{LoadRequest, LoadResponse, SaveRequest, SaveResponse, load_response};
use tokio::sync::watch;
use tonic::Status;

use crate::fake::{Answer, BOOT, Script, answer, loaded, saved};
use crate::stage::{Stage, count, ends, eventually, hashes};

/// Opened by a test when the daemon may go on.
#[derive(Clone)]
struct Gate(watch::Sender<bool>);

impl Gate {
    fn closed() -> Self {
        Self(watch::Sender::new(false))
    }

    fn open(&self) {
        self.0.send_replace(true);
    }

    fn is_open(&self) -> bool {
        *self.0.borrow()
    }

    async fn pass(&self) {
        self.0.subscribe().wait_for(|open| *open).await.unwrap();
    }
}

/// A daemon whose loads take the grant, say so, copy until the gate opens, give it back and then look at it again.
fn copying(taken: &Gate, gate: &Gate) -> Script {
    let (taken, gate) = (taken.clone(), gate.clone());
    let load = move |(grants, request): (Arc<GrantFile>, LoadRequest)| -> Answer<LoadResponse> {
        let (taken, gate) = (taken.clone(), gate.clone());
        Box::pin(async move {
            let grant = request.grant.unwrap();
            if let Some(_guard) = grants.take(grant.slot, grant.generation).unwrap() {
                taken.open();
                gate.pass().await;
            }
            if grants.is_valid(grant.slot, grant.generation).unwrap() {
                return Ok(loaded(&request));
            }
            let outcome = load_response::Outcome::Revoked.into();
            Ok(LoadResponse {
                boot_id: BOOT,
                outcome,
                ..Default::default()
            })
        })
    };
    Script {
        load: Box::new(load),
        ..Script::default()
    }
}

/// A daemon whose saves and loads wait for the gate before they do anything.
fn waiting(gate: &Gate) -> Script {
    let (saves, loads) = (gate.clone(), gate.clone());
    let save = move |(_, request): (Arc<GrantFile>, SaveRequest)| -> Answer<SaveResponse> {
        let gate = saves.clone();
        Box::pin(async move {
            gate.pass().await;
            Ok(saved(&request))
        })
    };
    let load = move |(_, request): (Arc<GrantFile>, LoadRequest)| -> Answer<LoadResponse> {
        let gate = loads.clone();
        Box::pin(async move {
            gate.pass().await;
            Ok(loaded(&request))
        })
    };
    Script {
        save: Box::new(save),
        load: Box::new(load),
        ..Script::default()
    }
}

fn save(worker: &WorkerClient, request_id: &str) -> Option<u64> {
    worker
        .save(request_id, hashes(1, 2), Bytes::new(), vec![4, 5], None)
        .unwrap()
}

fn load(worker: &WorkerClient, request_id: &str) -> u64 {
    worker.load(request_id, 7, BOOT, 3, vec![8, 9], None).unwrap()
}

fn only(mut ended: Vec<TransferEnd>) -> TransferEnd {
    assert_eq!(ended.len(), 1);
    ended.pop().unwrap()
}

#[test]
fn a_save_and_a_load_each_end_once_with_what_the_daemon_did() {
    let stage = Stage::new();
    let (daemon, worker) = stage.registered_worker(Script::default());
    let saved = save(&worker, "s").unwrap();
    let save_end = only(ends(&worker, 1));
    let loaded = load(&worker, "l");
    let load_end = only(ends(&worker, 1));
    for (end, id, request_id, kind) in [
        (&save_end, saved, "s", TransferKind::Save),
        (&load_end, loaded, "l", TransferKind::Load),
    ] {
        assert_eq!(
            (end.transfer_id, end.request_id.as_str(), end.kind, end.ok),
            (id, request_id, kind, true)
        );
        assert_eq!((end.blocks, end.bytes, end.message.as_str()), (2, 200, ""));
    }
    assert_eq!(worker.poll().unwrap(), []);
    assert_eq!(worker.in_flight().unwrap(), 0);
    daemon.seen(|seen| {
        let (save, load) = (&seen.saves[0], &seen.loads[0]);
        assert_eq!(
            (&save.hashes, &save.block_ids[..], save.hash_bytes),
            (&hashes(1, 2), &[4, 5][..], 32)
        );
        assert_eq!(
            (load.lease_id, load.lease_boot_id, load.first, &load.block_ids[..]),
            (7, BOOT, 3, &[8, 9][..])
        );
    });
}

#[test]
fn an_end_is_there_within_milliseconds_of_the_answer() {
    let stage = Stage::new();
    let (_daemon, worker) = stage.registered_worker(Script::default());
    let mut waits: Vec<Duration> = (0..51)
        .map(|_| {
            let begun = Instant::now();
            load(&worker, "l");
            while worker.poll().unwrap().is_empty() {
                std::thread::yield_now();
            }
            begun.elapsed()
        })
        .collect();
    waits.sort_unstable();
    assert!(waits[25] < Duration::from_millis(10), "{:?}", waits[25]);
}

#[test]
fn many_transfers_in_any_order_each_end_once() {
    let stage = Stage::new();
    let gate = Gate::closed();
    let (_daemon, worker) = stage.registered_worker(waiting(&gate));
    let mut ids: Vec<u64> = (0..4)
        .map(|_| save(&worker, "s").unwrap())
        .chain((0..4).map(|_| load(&worker, "l")))
        .collect();
    assert_eq!(worker.in_flight().unwrap(), 8);
    gate.open();
    let mut ended: Vec<u64> = ends(&worker, 8).iter().map(|end| end.transfer_id).collect();
    ids.sort_unstable();
    ended.sort_unstable();
    assert_eq!(ended, ids);
    assert_eq!(worker.poll().unwrap(), []);
}

#[test]
fn without_a_registration_a_save_is_nothing_and_a_load_fails() {
    let worker = Stage::new().worker();
    worker.identify([1; 16], [2; 32]).unwrap();
    assert_eq!(save(&worker, "s"), None);
    let id = load(&worker, "l");
    let end = only(worker.poll().unwrap());
    assert_eq!((end.transfer_id, end.ok, end.bytes), (id, false, 0));
    assert!(!end.message.is_empty());
    assert_eq!(worker.poll().unwrap(), []);
    assert!(worker.revoke(id).unwrap());
}

#[test]
fn a_lease_of_another_daemon_is_a_failed_load() {
    let stage = Stage::new();
    let (daemon, worker) = stage.registered_worker(Script::default());
    worker.load("l", 7, BOOT + 1, 0, vec![1], None).unwrap();
    let end = only(worker.poll().unwrap());
    assert_eq!((end.ok, end.lost), (false, true));
    assert!(daemon.seen(|seen| seen.loads.is_empty()));
}

#[test]
fn what_the_daemon_could_not_do_fails_with_its_reason() {
    let stage = Stage::new();
    let script = Script {
        load: Box::new(|(_, request)| match request.request_id.as_str() {
            "ended" => answer(Ok(LoadResponse {
                boot_id: BOOT,
                outcome: load_response::Outcome::LeaseEnded.into(),
                message: "lease 7 has ended".to_owned(),
                ..Default::default()
            })),
            _ => answer(Err(Status::invalid_argument("block id 9 is not below 8"))),
        }),
        save: Box::new(|_| {
            answer(Ok(SaveResponse {
                boot_id: BOOT,
                saved: 1,
                revoked: 1,
                ..Default::default()
            }))
        }),
        ..Script::default()
    };
    let (_daemon, worker) = stage.registered_worker(script);
    for (request_id, reason) in [
        ("ended", "lease 7 has ended"),
        ("wrong", "block id 9 is not below 8"),
    ] {
        load(&worker, request_id);
        let end = only(ends(&worker, 1));
        assert_eq!((end.ok, end.message.as_str(), end.lost), (false, reason, false));
    }
    save(&worker, "s").unwrap();
    assert!(!only(ends(&worker, 1)).ok);
    assert!(worker.attached().unwrap());
}

#[test]
fn what_is_not_taken_is_free_when_it_is_revoked() {
    let stage = Stage::new();
    let gate = Gate::closed();
    let (daemon, worker) = stage.registered_worker(waiting(&gate));
    let ids = [save(&worker, "s").unwrap(), load(&worker, "l")];
    eventually("both under way", || {
        daemon.seen(|seen| seen.saves.len() + seen.loads.len() == 2)
    });
    for id in ids {
        assert!(worker.revoke(id).unwrap());
        let end = only(worker.poll().unwrap());
        assert_eq!((end.transfer_id, end.ok, end.bytes), (id, false, 0));
        assert!(worker.revoke(id).unwrap());
    }
    assert_eq!(worker.in_flight().unwrap(), 0);

    // The answers that still come are nobody's, and later transfers have the slots.
    gate.open();
    for _ in 0..20 {
        load(&worker, "later");
        assert!(only(ends(&worker, 1)).ok);
    }
    assert_eq!(worker.poll().unwrap(), []);
}

#[test]
fn what_is_taken_is_free_only_when_it_was_given_back() {
    let stage = Stage::new();
    let (taken, gate) = (Gate::closed(), Gate::closed());
    let (_daemon, worker) = stage.registered_worker(copying(&taken, &gate));
    let id = load(&worker, "l");
    eventually("taken", || taken.is_open());
    assert!(!worker.revoke(id).unwrap());
    std::thread::sleep(Duration::from_millis(100));
    assert!(!worker.revoke(id).unwrap());
    assert_eq!((worker.in_flight().unwrap(), worker.poll().unwrap()), (1, vec![]));

    gate.open();
    let end = only(ends(&worker, 1));
    assert_eq!((end.transfer_id, end.ok), (id, false));
    assert_eq!(worker.in_flight().unwrap(), 0);
}

#[test]
fn a_transfer_that_is_not_answered_ends_at_its_deadline_unless_it_is_taken() {
    let stage = Stage::new();
    let (taken, gate) = (Gate::closed(), Gate::closed());
    let script = Script {
        save: Box::new(|_| Box::pin(std::future::pending())),
        ..copying(&taken, &gate)
    };
    let _daemon = stage.daemon(script);
    let deadline = Duration::from_millis(300);
    let worker = WorkerClient::with_deadline(stage.worker_config(), deadline).unwrap();
    worker.identify([1; 16], [2; 32]).unwrap();
    eventually("registered", || worker.attached().unwrap());

    let saving = save(&worker, "s").unwrap();
    let end = only(ends(&worker, 1));
    assert_eq!((end.transfer_id, end.ok), (saving, false));
    assert!(
        end.elapsed >= deadline && end.message.contains("0.3 s"),
        "{end:?}"
    );

    // On a busy machine its deadline may have passed before the daemon takes it.
    let loading = Cell::new(load(&worker, "l"));
    eventually("taken", || {
        if !taken.is_open() && !worker.poll().unwrap().is_empty() {
            loading.set(load(&worker, "l"));
        }
        taken.is_open()
    });
    std::thread::sleep(2 * deadline);
    assert_eq!((worker.in_flight().unwrap(), worker.poll().unwrap()), (1, vec![]));
    gate.open();
    let end = only(ends(&worker, 1));
    assert_eq!((end.transfer_id, end.ok), (loading.get(), false));
}

#[test]
fn a_lost_connection_frees_what_is_not_taken_and_nothing_else() {
    let stage = Stage::new();
    let (taken, gate) = (Gate::closed(), Gate::closed());
    let held = Arc::new(AtomicBool::new(true));
    // A thread of the daemon that copies on whatever becomes of the session.
    let script = {
        let (held, taken) = (Arc::clone(&held), taken.clone());
        Script {
            load: Box::new(move |(grants, request)| {
                let (held, taken) = (Arc::clone(&held), taken.clone());
                std::thread::spawn(move || {
                    let grant = request.grant.unwrap();
                    let _guard = grants.take(grant.slot, grant.generation).unwrap().unwrap();
                    taken.open();
                    while held.load(Ordering::SeqCst) {
                        std::thread::yield_now();
                    }
                });
                Box::pin(std::future::pending())
            }),
            ..waiting(&gate)
        }
    };
    let (daemon, worker) = stage.registered_worker(script);
    let saving = save(&worker, "s").unwrap();
    let loading = load(&worker, "l");
    eventually("taken", || taken.is_open());
    drop(daemon);

    let end = only(ends(&worker, 1));
    assert_eq!((end.transfer_id, end.ok, end.lost), (saving, false, true));
    assert_eq!(
        end.message,
        "the daemon ended, or cut the connection off, before it answered"
    );
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!((worker.in_flight().unwrap(), worker.poll().unwrap()), (1, vec![]));
    held.store(false, Ordering::SeqCst);
    let end = only(ends(&worker, 1));
    assert_eq!((end.transfer_id, end.ok, end.lost), (loading, false, true));
    load(&worker, "nobody");
    let end = only(worker.poll().unwrap());
    assert_eq!((end.ok, end.lost), (false, true), "{}", end.message);
}

#[test]
fn transfers_beyond_the_slots_do_not_begin() {
    let stage = Stage::new();
    let gate = Gate::closed();
    let (_daemon, worker) = stage.registered_worker(waiting(&gate));
    let under_way: Vec<u64> = (0..8).map(|_| load(&worker, "l")).collect();
    assert_eq!(save(&worker, "s"), None);
    let beyond = load(&worker, "beyond");
    let end = only(worker.poll().unwrap());
    assert_eq!((end.transfer_id, end.ok), (beyond, false));
    assert!(end.message.contains("slot"), "{}", end.message);
    assert_eq!(count(&worker.counters().unwrap(), "saves_skipped"), 1);

    assert!(worker.revoke(under_way[3]).unwrap());
    assert!(save(&worker, "s").is_some());
    gate.open();
    assert_eq!(ends(&worker, 9).iter().filter(|end| end.ok).count(), 8);
}

#[test]
fn a_closed_client_has_taken_every_grant_back() {
    let stage = Stage::new();
    let gate = Gate::closed();
    let (daemon, worker) = stage.registered_worker(waiting(&gate));
    save(&worker, "s").unwrap();
    load(&worker, "l");
    eventually("both under way", || {
        daemon.seen(|seen| seen.saves.len() + seen.loads.len() == 2)
    });
    worker.close().unwrap();
    assert_eq!(worker.in_flight().unwrap(), 0);
    let ended = worker.poll().unwrap();
    assert_eq!((ended.len(), ended.iter().any(|end| end.ok)), (2, false));
}

#[test]
fn hashes_that_do_not_fit_the_blocks_are_a_mistake() {
    let worker = Stage::new().worker();
    let error = worker
        .save("s", hashes(1, 2), Bytes::new(), vec![1, 2, 3], None)
        .unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Config);
}

#[test]
fn what_blocks_follow_is_one_hash_for_each_or_a_mistake() {
    let stage = Stage::new();
    let (daemon, worker) = stage.registered_worker(Script::default());
    let save = |after| worker.save("s", hashes(1, 2), after, vec![4, 5], None);
    for after in [hashes(0, 1), hashes(0, 3), Bytes::from_static(b"x")] {
        let error = save(after.clone()).unwrap_err();
        assert_eq!(error.kind(), ClientErrorKind::Config);
        assert!(
            error.message().contains(&format!("{} bytes", after.len())),
            "{error}"
        );
    }
    for after in [hashes(0, 2), Bytes::new()] {
        save(after).unwrap().unwrap();
        assert!(only(ends(&worker, 1)).ok);
    }
    daemon.seen(|seen| {
        let after: Vec<_> = seen.saves.iter().map(|save| &save.after).collect();
        assert_eq!(after, [&hashes(0, 2), &Bytes::new()]);
    });
}
