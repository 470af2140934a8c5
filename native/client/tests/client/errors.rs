use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use pegaflow_client::LookupState;
use tonic::{Code, Status};

use crate::fake::{BOOT, Script, answer, hits, loaded, saved};
use crate::stage::{Stage, ask, ends, eventually, hashes};

const CODES: [Code; 16] = [
    Code::Cancelled,
    Code::Unknown,
    Code::InvalidArgument,
    Code::DeadlineExceeded,
    Code::NotFound,
    Code::AlreadyExists,
    Code::PermissionDenied,
    Code::ResourceExhausted,
    Code::FailedPrecondition,
    Code::Aborted,
    Code::OutOfRange,
    Code::Unimplemented,
    Code::Internal,
    Code::Unavailable,
    Code::DataLoss,
    Code::Unauthenticated,
];

/// Every call that engines make on their way fails with this code while `broken` says so.
fn script(code: Code, broken: &Arc<AtomicBool>) -> Script {
    let failure = || {
        let broken = Arc::clone(broken);
        move || {
            broken
                .load(Ordering::SeqCst)
                .then(|| Status::new(code, "broken on purpose"))
        }
    };
    let (in_lookup, in_save, in_load) = (failure(), failure(), failure());
    Script {
        lookup: Box::new(move |_| answer(in_lookup().map_or(Ok(hits(1, 7)), Err))),
        save: Box::new(move |(_, request)| answer(in_save().map_or_else(|| Ok(saved(&request)), Err))),
        load: Box::new(move |(_, request)| answer(in_load().map_or_else(|| Ok(loaded(&request)), Err))),
        ..Script::default()
    }
}

#[test]
fn an_error_of_any_code_is_no_hits_a_failed_save_and_a_failed_load() {
    for code in CODES {
        let stage = Stage::new();
        let broken = Arc::new(AtomicBool::new(true));
        let (_daemon, scheduler) = stage.attached_scheduler(script(code, &broken));
        let worker = stage.worker();
        worker.identify([1; 16], [2; 32]).unwrap();
        eventually("registered", || worker.attached().unwrap());

        assert_eq!(ask(&scheduler, "r").state, LookupState::Off, "{code:?}");
        // One at a time: an error that ends the session would end the other too.
        let save = worker
            .save("r", hashes(1, 1), Bytes::new(), vec![0], None)
            .unwrap()
            .unwrap();
        let end = &ends(&worker, 1)[0];
        assert_eq!((end.transfer_id, end.ok), (save, false), "{code:?}");
        eventually("registered", || worker.attached().unwrap());
        let load = worker.load("r", 7, BOOT, 0, vec![0], None).unwrap();
        let end = &ends(&worker, 1)[0];
        assert_eq!((end.transfer_id, end.ok), (load, false), "{code:?}");

        broken.store(false, Ordering::SeqCst);
        eventually("hits", || ask(&scheduler, "r").state == LookupState::Ready);
        eventually("saves", || {
            worker
                .save("r", hashes(1, 1), Bytes::new(), vec![0], None)
                .unwrap()
                .is_some_and(|_| ends(&worker, 1)[0].ok)
        });
        worker.load("r", 7, BOOT, 0, vec![0], None).unwrap();
        assert!(ends(&worker, 1)[0].ok, "{code:?}");
    }
}
