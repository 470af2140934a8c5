use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use pegaflow_client::{LookupState, SchedulerClient, WorkerClient};

use crate::fake::{BOOT, FakeDaemon, Script, answer, hits};
use crate::proxy::{Fault, Proxy};
use crate::stage::{Stage, ask, ends, eventually, hashes};

/// A lookup whose answer does not come is given up after ten times as long.
const LOOKUP_DEADLINE: Duration = Duration::from_millis(200);
/// A transfer whose answer does not come is revoked after this.
const TRANSFER_DEADLINE: Duration = Duration::from_secs(1);

/// A daemon behind a proxy, which finds every lookup's block.
struct Broken {
    stage: Stage,
    proxy: Proxy,
    _daemon: FakeDaemon,
}

impl Broken {
    fn new() -> Self {
        let stage = Stage::new();
        let behind = stage.socket.with_file_name("behind.sock");
        let script = Script {
            lookup: Box::new(|_| answer(Ok(hits(1, 7)))),
            ..Script::default()
        };
        let daemon = FakeDaemon::start(&behind, script);
        let proxy = Proxy::start(&stage.socket, behind);
        Self {
            stage,
            proxy,
            _daemon: daemon,
        }
    }

    fn scheduler(&self) -> SchedulerClient {
        let scheduler =
            SchedulerClient::with_deadline(self.stage.scheduler_config(), LOOKUP_DEADLINE).unwrap();
        eventually("attached", || scheduler.attached().unwrap());
        scheduler
    }

    fn worker(&self) -> WorkerClient {
        let worker = WorkerClient::with_deadline(self.stage.worker_config(), TRANSFER_DEADLINE).unwrap();
        worker.identify([1; 16], [2; 32]).unwrap();
        eventually("registered", || worker.attached().unwrap());
        worker
    }
}

/// A lookup of a request of its own, whose lease is kept: its release would be another answer.
fn finds(scheduler: &SchedulerClient) -> bool {
    static REQUESTS: AtomicU64 = AtomicU64::new(0);
    let request = REQUESTS.fetch_add(1, Ordering::Relaxed);
    ask(scheduler, &request.to_string()).state == LookupState::Ready
}

fn save(worker: &WorkerClient) -> bool {
    let started = worker
        .save("s", hashes(1, 1), Bytes::new(), vec![0], None)
        .unwrap();
    started.is_some() && ends(worker, 1)[0].ok
}

fn load(worker: &WorkerClient) -> bool {
    worker.load("l", 7, BOOT, 0, vec![0], None).unwrap();
    ends(worker, 1)[0].ok
}

/// Bytes of the daemon's answer to a call that was made before; what it says beside answers makes some of these longer.
fn length_of<C>(broken: &Broken, client: &C, call: fn(&C) -> bool) -> usize {
    eventually("the first call", || call(client));
    let lengths = (0..5).map(|_| {
        broken.proxy.count();
        assert!(call(client));
        broken.proxy.passed()
    });
    lengths.min().unwrap()
}

/// Cuts the answer to a call at each of its bytes: the call fails, and soon another one is answered.
fn cut_everywhere<C>(client: fn(&Broken) -> C, call: fn(&C) -> bool) {
    let broken = Broken::new();
    for at in 0..length_of(&broken, &client(&broken), call) {
        let broken = Broken::new();
        let client = client(&broken);
        eventually("the first call", || call(&client));
        broken.proxy.break_at(at, Fault::Cut);
        assert!(!call(&client), "cut at {at}");
        eventually("a call is answered", || call(&client));
    }
}

#[test]
fn a_lookup_whose_answer_is_cut_at_any_byte_is_no_hits() {
    cut_everywhere(Broken::scheduler, finds);
}

#[test]
fn a_save_whose_answer_is_cut_at_any_byte_has_failed() {
    cut_everywhere(Broken::worker, save);
}

#[test]
fn a_load_whose_answer_is_cut_at_any_byte_has_failed() {
    cut_everywhere(Broken::worker, load);
}

#[test]
fn a_session_is_opened_wherever_its_beginning_is_cut() {
    let broken = Broken::new();
    broken.proxy.count();
    drop((broken.scheduler(), broken.worker()));
    for at in 0..broken.proxy.passed() {
        let broken = Broken::new();
        broken.proxy.break_at(at, Fault::Cut);
        let (scheduler, worker) = (broken.scheduler(), broken.worker());
        eventually("hits", || finds(&scheduler));
        eventually("a save", || save(&worker));
    }
}

/// A flipped byte can make the client wait for bytes that never come: all are tried at once.
#[test]
fn an_answer_with_any_byte_changed_ends_nothing_for_good() {
    let broken = Broken::new();
    let lookup = length_of(&broken, &broken.scheduler(), finds);
    let transfer = length_of(&broken, &broken.worker(), save);
    thread::scope(|scope| {
        for at in 0..lookup {
            scope.spawn(move || flip(at, Broken::scheduler, finds));
        }
    });
    thread::scope(|scope| {
        for at in 0..transfer {
            scope.spawn(move || flip(at, Broken::worker, save));
        }
    });
}

fn flip<C>(at: usize, client: fn(&Broken) -> C, call: fn(&C) -> bool) {
    let broken = Broken::new();
    let client = client(&broken);
    eventually("the first call", || call(&client));
    broken.proxy.break_at(at, Fault::Flip);
    call(&client);
    eventually("a call is answered", || call(&client));
}
