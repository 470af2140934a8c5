//! An engine's allocations, mapped, and its layers in them.

use std::sync::Arc;

use crate::cuda::{Device, Direction, EventHandle, GpuUuid, Gpus, Mapping, MemoryHandle, PeerEvent, Streams};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::LayerLayout;

/// The memory of an engine on one GPU, as its process names it.
#[derive(Debug, Clone)]
pub struct CudaMemory {
    /// The GPU.
    pub gpu: GpuUuid,
    /// Its allocations.
    pub allocations: Vec<MemoryHandle>,
    /// Events that it records in its stream.
    pub events: Vec<EventHandle>,
}

/// A layer in one of an engine's allocations: the layout's `base_address` counts from the allocation's first byte.
#[derive(Debug, Clone)]
pub struct CudaLayer {
    /// Index into [`CudaMemory::allocations`].
    pub allocation: usize,
    /// Where the layer is in it.
    pub layout: LayerLayout,
}

/// What of an engine is open here, with streams of its own.
pub(super) struct Opened {
    pub(super) device: Arc<Device>,
    pub(super) events: Vec<PeerEvent>,
    mappings: Vec<Mapping>,
    to_host: Streams,
    to_device: Streams,
}

impl Opened {
    /// Maps each allocation once, and opens the events.
    pub(super) fn open(gpus: &Gpus, memory: &CudaMemory) -> Result<Self> {
        let device = gpus.find(memory.gpu)?;
        let mappings = memory
            .allocations
            .iter()
            .map(|&handle| Mapping::open(&device.gpu, handle));
        let events = memory
            .events
            .iter()
            .map(|&handle| PeerEvent::open(&device.gpu, handle));
        Ok(Self {
            mappings: mappings.collect::<Result<_>>()?,
            events: events.collect::<Result<_>>()?,
            to_host: Streams::new(&device.gpu, Direction::ToHost),
            to_device: Streams::new(&device.gpu, Direction::ToDevice),
            device,
        })
    }

    pub(super) fn streams(&self, direction: Direction) -> &Streams {
        match direction {
            Direction::ToHost => &self.to_host,
            Direction::ToDevice => &self.to_device,
        }
    }

    /// The layer at the addresses that it has in this process.
    pub(super) fn place(&self, layer: CudaLayer, num_blocks: u32) -> Result<LayerLayout> {
        let CudaLayer {
            allocation,
            layout: mut layer,
        } = layer;
        let Some(mapping) = self.mappings.get(allocation) else {
            return Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "layer {:?} is in allocation {allocation}, but there are {}",
                    layer.name,
                    self.mappings.len()
                ),
            ));
        };
        match end_of(&layer, num_blocks) {
            Some(end) if end <= mapping.bytes() => {
                layer.base_address += mapping.base();
                Ok(layer)
            }
            end => Err(Error::new(
                ErrorKind::Invalid,
                format!(
                    "layer {:?} ends {} bytes behind the begin of its allocation, which has {} bytes",
                    layer.name,
                    end.unwrap_or(u64::MAX),
                    mapping.bytes()
                ),
            )),
        }
    }
}

/// Where the last byte of the last block ends, if there is such an address.
fn end_of(layer: &LayerLayout, num_blocks: u32) -> Option<u64> {
    let last_block = layer
        .block_stride
        .checked_mul(u64::from(num_blocks).checked_sub(1)?)?;
    let first = layer.base_address.checked_add(last_block)?;
    let ends = layer
        .segments
        .iter()
        .map(|segment| first.checked_add(segment.offset)?.checked_add(segment.length));
    ends.collect::<Option<Vec<_>>>()?.into_iter().max()
}
