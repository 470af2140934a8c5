//! Points in an engine's stream.

use std::time::{Duration, Instant};

use pegaflow_core::copy::CopyEngine;
use pegaflow_core::cuda::EVENTS;
use pegaflow_core::error::ErrorKind;

use crate::engine::Engine;
use crate::memory::DeviceMemory;
use crate::pool::Daemon;
use crate::stand_in;

/// How long a stream is kept busy.
const BUSY: Duration = Duration::from_millis(1_500);

pub(crate) fn a_point_has_passed_only_when_what_was_before_it_has_ended() {
    let (daemon, engine) = (Daemon::start(64 << 20), Engine::start());
    let memory = DeviceMemory::new(&daemon, &engine, 4_096);
    let copies = memory.whole();
    assert_eq!(copies.points() as usize, EVENTS);

    let before = engine.record().unwrap();
    let began = Instant::now();
    engine.be_busy(BUSY.as_millis() as u64);
    let after = engine.record().unwrap();
    assert_ne!(before, after);
    assert!(copies.has_passed(before).unwrap());
    let deadline = Instant::now() + Duration::from_secs(60);
    while !copies.has_passed(after).unwrap() {
        assert!(Instant::now() < deadline, "never");
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(began.elapsed() >= BUSY, "{:?}", began.elapsed());
    assert_eq!(
        copies.has_passed(EVENTS as u32).unwrap_err().kind(),
        ErrorKind::Invalid
    );
}

pub(crate) fn the_points_of_a_killed_engine_are_an_error() {
    let (daemon, engine) = (Daemon::start(64 << 20), Engine::start());
    let memory = DeviceMemory::new(&daemon, &engine, 4_096);
    let copies = memory.whole();
    engine.be_busy(if stand_in::is_used() { 60_000 } else { 3_000 });
    let point = engine.record().unwrap();
    assert!(!copies.has_passed(point).unwrap());
    engine.kill();
    assert_eq!(copies.has_passed(point).unwrap_err().kind(), ErrorKind::PeerEnded);
    let began = Instant::now();
    drop(copies);
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    // The GPU is as good as before for the next one.
    let next = Engine::start();
    DeviceMemory::new(&daemon, &next, 1 << 20).read_all();
}

pub(crate) fn points_are_used_again_once_they_are_dropped() {
    let engine = Engine::start();
    engine.allocate(4_096);
    let mut events: Vec<u32> = (0..EVENTS).map(|_| engine.record().unwrap()).collect();
    events.sort_unstable();
    events.dedup();
    assert_eq!(events.len(), EVENTS);
    assert_eq!(engine.record(), None);
    engine.drop_points();
    assert!(engine.record().is_some());
}
