//! An engine's allocations, mapped, and its layers in them.

use std::sync::Arc;

use crate::cuda::{
    Device, Direction, EventHandle, GpuUuid, Gpus, Mapping, MemoryHandle, PeerEvent, Ring, Streams,
};
use crate::error::{Error, ErrorKind, Result};
use crate::layout::{BlockLayout, LayerLayout, Segment};

/// The memory of an engine on one GPU, as its process names it.
#[derive(Debug, Clone)]
pub struct CudaMemory {
    /// The GPU.
    pub gpu: GpuUuid,
    /// Its allocations.
    pub allocations: Vec<MemoryHandle>,
    /// Events that it records in its stream.
    pub events: Vec<EventHandle>,
    /// Where it can collect blocks.
    pub ring: Option<Ring>,
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
    ring: Option<Mapping>,
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
            ring: memory
                .ring
                .map(|ring| Mapping::open(&device.gpu, ring.handle))
                .transpose()?,
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

    /// The slots of the ring as blocks of one run; None without one.
    pub(super) fn place_ring(&self, ring: Option<&Ring>, page_bytes: u64) -> Result<Option<BlockLayout>> {
        let Some((ring, mapping)) = ring.zip(self.ring.as_ref()) else {
            return Ok(None);
        };
        let slots = LayerLayout {
            name: "ring".into(),
            base_address: 0,
            block_stride: ring.slot_stride,
            segments: vec![Segment {
                offset: 0,
                length: page_bytes,
            }],
        };
        let slots = within(mapping, slots, ring.slots)?;
        BlockLayout::new(ring.slots, &[slots]).map(Some)
    }

    /// Lets go of a ring that is not used.
    pub(super) fn close_ring(&mut self) {
        self.ring = None;
    }

    /// The layer at the addresses that it has in this process.
    pub(super) fn place(&self, layer: CudaLayer, num_blocks: u32) -> Result<LayerLayout> {
        let CudaLayer {
            allocation,
            layout: layer,
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
        within(mapping, layer, num_blocks)
    }
}

/// The layer at the addresses of the allocation in which it has to be.
fn within(mapping: &Mapping, mut layer: LayerLayout, num_blocks: u32) -> Result<LayerLayout> {
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
