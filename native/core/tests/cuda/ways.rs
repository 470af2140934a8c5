//! How copies are handed to the driver, and how fast they may be.

use std::time::{Duration, Instant};

use pegaflow_core::copy::{CopyEngine, SavePage};
use pegaflow_core::cuda::{CopyStrategy, CopyWay, EngineSnapshot, GpuSettings};

use crate::conformance;
use crate::engine::Engine;
use crate::memory::DeviceMemory;
use crate::pool::Daemon;

fn set(way: CopyWay) -> GpuSettings {
    GpuSettings {
        strategy: match way {
            CopyWay::Batch => CopyStrategy::Batch,
            CopyWay::Plain => CopyStrategy::Plain,
        },
        max_rate: None,
    }
}

fn shown(daemon: &Daemon) -> Vec<EngineSnapshot> {
    let devices = daemon.settled().devices;
    devices.into_iter().flat_map(|device| device.engines).collect()
}

pub(crate) fn each_way_that_can_be_set_passes_the_suite() {
    let engine = Engine::start();
    for way in [CopyWay::Batch, CopyWay::Plain] {
        let daemon = Daemon::with_settings(64 << 20, set(way));
        conformance::check(|bytes| DeviceMemory::new(&daemon, &engine, bytes));
    }
}

pub(crate) fn the_way_is_measured_unless_it_is_set_and_shown_while_the_engine_is_there() {
    let engine = Engine::start();
    let daemon = Daemon::start(64 << 20);
    let memory = DeviceMemory::new(&daemon, &engine, 1 << 20);
    let copies = memory.whole();
    let [chosen] = <[_; 1]>::try_from(shown(&daemon)).unwrap();
    let ways: Vec<CopyWay> = chosen.measured.iter().map(|(way, _)| *way).collect();
    assert_eq!(ways, [CopyWay::Batch, CopyWay::Plain]);
    assert!(chosen.measured.iter().all(|(_, rate)| *rate > 0.0));
    assert_eq!(
        (chosen.pid, chosen.runs, chosen.page_bytes),
        (engine.process.identity().pid, 1, 1 << 20)
    );
    drop(copies);
    assert_eq!(shown(&daemon), []);

    for way in [CopyWay::Batch, CopyWay::Plain] {
        let daemon = Daemon::with_settings(64 << 20, set(way));
        let memory = DeviceMemory::new(&daemon, &engine, 1 << 20);
        let _copies = memory.whole();
        let [chosen] = <[_; 1]>::try_from(shown(&daemon)).unwrap();
        assert_eq!((chosen.copy_way, chosen.measured), (way, Vec::new()));
    }
}

pub(crate) fn copies_stay_below_a_rate_that_is_set() {
    const RATE: u64 = 64 << 20;
    let engine = Engine::start();
    let settings = GpuSettings {
        strategy: CopyStrategy::Auto,
        max_rate: Some(RATE),
    };
    let daemon = Daemon::with_settings(64 << 20, settings);
    let memory = DeviceMemory::new(&daemon, &engine, 8 << 20);
    let copies = memory.whole();
    assert!(copies.batch_bytes() <= RATE / 10, "a batch takes long");
    let mut page = vec![0; 8 << 20];
    let began = Instant::now();
    for _ in 0..5 {
        copies.read(&[SavePage::from_bytes(0, &mut page)]).unwrap();
    }
    // The first one need not wait.
    assert!(began.elapsed() >= Duration::from_millis(500));
}
