//! The machine's GPUs, in the status document.

use pegaflow_core::cuda::GpusSnapshot;
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
}

impl Gpus {
    pub(super) fn of(snapshot: GpusSnapshot) -> Self {
        let devices = snapshot.devices.into_iter().map(|device| Device {
            uuid: device.uuid,
            name: device.name,
        });
        Self {
            state: snapshot.state,
            reason: snapshot.reason,
            pinned_bytes: snapshot.pinned_bytes,
            devices: devices.collect(),
        }
    }
}
