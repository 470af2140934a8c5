//! The machine's GPUs, in the status document.

use pegaflow_core::cuda::{CopyWay, EngineSnapshot, GpusSnapshot};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(super) struct Gpus {
    state: &'static str,
    reason: Option<String>,
    pinned_bytes: u64,
    devices: Vec<Device>,
}

#[derive(Debug, Serialize)]
struct Device {
    uuid: String,
    name: String,
    own_bytes: Option<u64>,
    is_shared_by_mps: bool,
    engines: Vec<Engine>,
}

#[derive(Debug, Serialize)]
struct Engine {
    pid: u32,
    runs: u64,
    page_bytes: u64,
    copy_strategy: &'static str,
    batch_bytes_s: Option<f64>,
    plain_bytes_s: Option<f64>,
    ring: Option<Ring>,
}

#[derive(Debug, Serialize)]
struct Ring {
    bytes: u64,
    bytes_s: f64,
}

impl Engine {
    fn of(engine: &EngineSnapshot) -> Self {
        let rate = |way| {
            let mut rates = engine.measured.iter();
            rates
                .find(|(measured, _)| *measured == way)
                .map(|(_, rate)| *rate)
        };
        Self {
            pid: engine.pid,
            runs: engine.runs,
            page_bytes: engine.page_bytes,
            copy_strategy: engine.ring.map_or(engine.copy_way.name(), |_| "gather"),
            batch_bytes_s: rate(CopyWay::Batch),
            plain_bytes_s: rate(CopyWay::Plain),
            ring: engine.ring.map(|ring| Ring {
                bytes: ring.bytes,
                bytes_s: ring.bytes_s,
            }),
        }
    }
}

impl Gpus {
    pub(super) fn of(snapshot: GpusSnapshot) -> Self {
        let devices = snapshot.devices.into_iter().map(|device| Device {
            engines: device.engines.iter().map(Engine::of).collect(),
            uuid: device.uuid,
            name: device.name,
            own_bytes: device.own_bytes,
            is_shared_by_mps: device.is_shared_by_mps,
        });
        Self {
            state: snapshot.state,
            reason: snapshot.reason,
            pinned_bytes: snapshot.pinned_bytes,
            devices: devices.collect(),
        }
    }
}
