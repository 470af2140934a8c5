//! The self-test of copies on a GPU, in each way that its driver has.

use std::sync::Arc;

use super::device_memory::DeviceMemory;
use super::gpu::Gpu;
use super::settings::CopyWay;
use super::staging::Staging;
use super::stream::{Direction, Streams};
use crate::error::Result;
use crate::self_test::{BYTES, SelfTest};

/// Host memory to the GPU and back.
pub(super) fn round_trips(gpu: &Arc<Gpu>) -> Vec<SelfTest> {
    let ways: &[CopyWay] = if gpu.has_batch_calls() {
        &[CopyWay::Plain, CopyWay::Batch]
    } else {
        &[CopyWay::Plain]
    };
    ways.iter()
        .map(|&way| {
            let copy_path = format!("{} {}", gpu.uuid(), way.name());
            SelfTest::of(copy_path, |sent| round_trip(gpu, way, sent))
        })
        .collect()
}

fn round_trip(gpu: &Arc<Gpu>, way: CopyWay, sent: &[u8]) -> Result<Vec<u8>> {
    let memory = DeviceMemory::new(gpu, BYTES as u64)?;
    let streams = [Direction::ToDevice, Direction::ToHost].map(|direction| Streams::new(gpu, direction));
    Staging::new(gpu)?.round_trip(&streams, way, memory.address(), sent)
}
