//! The memory that a worker describes: what its message means, and a way to its blocks.

use std::sync::Arc;

use pegaflow_core::copy::{
    CopyEngine, CopyThreads, CudaCopyEngine, CudaLayer, CudaMemory, HostCopyEngine, SavePage,
};
use pegaflow_core::cuda::{EventHandle, GpuUuid, Gpus, MemoryHandle, Ring};
use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::layout::{BlockLayout, LayerLayout, Segment};
use pegaflow_core::process::PeerProcess;
use pegaflow_proto::limits::{ALLOCATIONS, LAYERS_PER_GROUP, POINTS};
use pegaflow_proto::v1::register_request::Memory as Kind;
use pegaflow_proto::v1::{self, GroupLayout};

use super::check;
use super::refusal::{Answer, Refusal};

/// The memory of one worker's blocks.
#[derive(Debug)]
pub(super) enum Memory {
    /// In the worker's address space.
    Host(BlockLayout),
    /// On a GPU.
    Cuda {
        memory: CudaMemory,
        num_blocks: u32,
        layers: Vec<CudaLayer>,
    },
}

impl Memory {
    /// What a message says, checked as far as it can be before anything is opened.
    pub(super) fn of(group: GroupLayout, kind: Option<Kind>) -> Answer<Self> {
        match kind {
            Some(Kind::Host(_)) => {
                let layers: Vec<LayerLayout> = group.layers.into_iter().map(layer_layout).collect();
                Ok(Self::Host(BlockLayout::new(group.num_blocks, &layers)?))
            }
            Some(Kind::Cuda(memory)) => Self::on_gpu(group, &memory),
            None => Err(Refusal::invalid("memory is missing: host and cuda are allowed")),
        }
    }

    fn on_gpu(group: GroupLayout, memory: &v1::CudaMemory) -> Answer<Self> {
        check::count("allocations", memory.allocations.len(), ALLOCATIONS)?;
        check::count("points", memory.points.len(), POINTS)?;
        check::count("layers", group.layers.len(), LAYERS_PER_GROUP)?;
        if memory.points.is_empty() {
            return Err(Refusal::invalid(
                "points is empty: memory on a GPU needs at least 1, by which transfers name a point of its stream",
            ));
        }
        let handle = |bytes: &bytes::Bytes| check::fixed("a handle", bytes);
        let allocations = memory
            .allocations
            .iter()
            .map(|bytes| handle(bytes).map(MemoryHandle));
        let events = memory.points.iter().map(|bytes| handle(bytes).map(EventHandle));
        Ok(Self::Cuda {
            memory: CudaMemory {
                gpu: GpuUuid(check::fixed("gpu_uuid", &memory.gpu_uuid)?),
                allocations: allocations.collect::<Result<_>>()?,
                events: events.collect::<Result<_>>()?,
                ring: memory.ring.as_ref().map(ring).transpose()?,
            },
            num_blocks: group.num_blocks,
            layers: group
                .layers
                .into_iter()
                .map(|layer| CudaLayer {
                    allocation: layer.allocation as usize,
                    layout: layer_layout(layer),
                })
                .collect(),
        })
    }

    /// A way to the blocks, of which the first and the last are read: memory that cannot be reached is refused now, not at the
    /// first save. It takes a while: not for the thread that answers calls.
    ///
    /// # Errors
    /// `Limit` for blocks of more than `most_bytes`, else what opening and reading say.
    pub(super) fn open(
        self,
        process: Arc<PeerProcess>,
        threads: Arc<CopyThreads>,
        gpus: &Gpus,
        most_bytes: u64,
    ) -> Result<Box<dyn CopyEngine>> {
        let engine: Box<dyn CopyEngine> = match self {
            Self::Host(layout) => Box::new(HostCopyEngine::new(process, layout, threads)),
            Self::Cuda {
                memory,
                num_blocks,
                layers,
            } => Box::new(CudaCopyEngine::new(gpus, process, &memory, num_blocks, layers)?),
        };
        check_page(engine.layout(), most_bytes)?;
        let mut page = vec![0; usize::try_from(engine.page_bytes()).unwrap_or(usize::MAX)];
        for block in [0, engine.layout().num_blocks() - 1] {
            engine.read(&[SavePage::from_bytes(block, &mut page)])?;
        }
        Ok(engine)
    }
}

fn ring(ring: &v1::Ring) -> Result<Ring> {
    Ok(Ring {
        handle: MemoryHandle(check::fixed("a handle", &ring.allocation)?),
        slots: ring.slots,
        slot_stride: ring.slot_stride,
    })
}

fn layer_layout(layer: v1::LayerLayout) -> LayerLayout {
    LayerLayout {
        name: layer.name,
        base_address: layer.base_address,
        block_stride: layer.block_stride,
        segments: layer
            .segments
            .into_iter()
            .map(|segment| Segment {
                offset: segment.offset,
                length: segment.length,
            })
            .collect(),
    }
}

fn check_page(layout: &BlockLayout, most_bytes: u64) -> Result<()> {
    if layout.page_bytes() <= most_bytes {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Limit,
        format!(
            "a block has {} bytes in this worker: at most {most_bytes} are allowed, use a smaller block size",
            layout.page_bytes()
        ),
    ))
}
