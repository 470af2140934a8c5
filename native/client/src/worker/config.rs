//! What a worker is, and where its blocks are.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use pegaflow_core::cuda::{Export, Gather, StreamPoint};
use pegaflow_core::layout::{BlockLayout, LayerLayout, Segment};
use pegaflow_proto::PROTOCOL_VERSION;
use pegaflow_proto::limits::{HASH_BYTES_MAX, HASH_BYTES_MIN};
use pegaflow_proto::v1::{
    self, AttachRequest, RegisterRequest, WorkerRole, attach_request, register_request,
};
use serde::Deserialize;

use super::ring::Ring;
use crate::error::{ClientError, ClientErrorKind, Result};

/// What a worker is.
#[derive(Debug, Clone)]
pub struct WorkerConfig {
    /// The daemon's socket.
    pub socket: PathBuf,
    /// The engine's id, for operators.
    pub engine_id: String,
    /// Position among the engine's workers.
    pub rank: u32,
    /// Which page of a block this worker holds.
    pub shard: u32,
    /// Where its blocks are.
    pub layout: EngineLayout,
}

/// The memory of a worker's blocks, checked.
#[derive(Debug, Clone)]
pub struct EngineLayout {
    hash_bytes: u32,
    groups: Vec<v1::GroupLayout>,
    /// For memory on a GPU; None for that of this process.
    export: Option<Arc<Export>>,
}

/// Which engine a worker is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EngineIdentity {
    pub(super) engine_key: [u8; 16],
    pub(super) namespace: [u8; 32],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayoutJson {
    hash_bytes: u32,
    #[serde(default)]
    memory: MemoryJson,
    groups: Vec<GroupJson>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum MemoryJson {
    #[default]
    Host,
    Cuda,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupJson {
    group: u32,
    num_blocks: u32,
    layers: Vec<LayerJson>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LayerJson {
    name: String,
    base_address: u64,
    block_stride: u64,
    segments: Vec<(u64, u64)>,
}

impl EngineLayout {
    /// From JSON: `{"hash_bytes", "memory", "groups": [{"group", "num_blocks", "layers": [{"name", "base_address", "block_stride",
    /// "segments": [[offset, length], ..]}, ..]}]}`. Memory is `host`, which is the default, or `cuda`: then this process's
    /// allocations are exported, which fails for those that no other process can map.
    pub fn from_json(json: &str) -> Result<Self> {
        let layout: LayoutJson = serde_json::from_str(json).map_err(|error| {
            ClientError::new(
                ClientErrorKind::Config,
                format!("the layout cannot be read: {error}"),
            )
        })?;
        if !(HASH_BYTES_MIN..=HASH_BYTES_MAX).contains(&layout.hash_bytes) {
            return Err(ClientError::new(
                ClientErrorKind::Config,
                format!(
                    "hash_bytes is {}, but block hashes have {HASH_BYTES_MIN} to {HASH_BYTES_MAX} bytes",
                    layout.hash_bytes
                ),
            ));
        }
        if layout.groups.is_empty() {
            return Err(ClientError::new(
                ClientErrorKind::Config,
                "the layout has no groups; it needs at least 1",
            ));
        }
        let groups = layout
            .groups
            .into_iter()
            .map(GroupJson::checked)
            .collect::<Result<Vec<_>>>()?;
        let is_exported = layout.memory == MemoryJson::Cuda;
        let mut layout = Self {
            hash_bytes: layout.hash_bytes,
            export: is_exported.then(|| export(&groups)).transpose()?,
            groups,
        };
        layout.place()?;
        Ok(layout)
    }

    /// The end of what is in the stream now, on which transfers of GPU memory wait; `stream` is as the CUDA runtime has it.
    /// None for memory of this process, and when too many points are in use.
    pub fn mark(&self, stream: u64) -> Result<Option<StreamPoint>> {
        match &self.export {
            Some(export) => export.record(stream).map_err(of_core),
            None => Ok(None),
        }
    }

    /// Whether transfers have to name a point.
    pub(super) fn has_points(&self) -> bool {
        self.export.is_some()
    }

    /// Has the layers of exported memory count from the first byte of their allocation.
    fn place(&mut self) -> Result<()> {
        let Some(export) = &self.export else {
            return Ok(());
        };
        for layer in self.groups.iter_mut().flat_map(|group| &mut group.layers) {
            let (allocation, offset) = export.place(layer.base_address).ok_or_else(|| {
                ClientError::new(
                    ClientErrorKind::Config,
                    format!("layer {:?} is in no allocation", layer.name),
                )
            })?;
            layer.allocation = allocation as u32;
            layer.base_address = offset;
        }
        Ok(())
    }

    /// A ring for these blocks, where they are on a GPU and their runs are shorter than `below` bytes on average.
    pub(super) fn ring(&self, below: u64) -> Result<Option<Arc<Ring>>> {
        let (Some(export), [group]) = (&self.export, self.groups.as_slice()) else {
            return Ok(None);
        };
        let bases: Vec<u64> = export
            .allocations()
            .iter()
            .map(|allocation| allocation.base)
            .collect();
        let layers = group.layers.iter().map(|layer| {
            let base = bases.get(layer.allocation as usize).copied().unwrap_or_default();
            LayerLayout {
                name: layer.name.clone(),
                base_address: base + layer.base_address,
                block_stride: layer.block_stride,
                segments: layer
                    .segments
                    .iter()
                    .map(|segment| Segment {
                        offset: segment.offset,
                        length: segment.length,
                    })
                    .collect(),
            }
        });
        let layout = BlockLayout::new(group.num_blocks, &layers.collect::<Vec<_>>()).map_err(of_core)?;
        let runs = layout.block_strides().count() as u64;
        if runs == 0 || layout.page_bytes() / runs >= below {
            return Ok(None);
        }
        let gather = Gather::new(export, &layout).map_err(of_core)?;
        Ring::open(gather).map(Some)
    }

    fn memory(&self, ring: Option<&Ring>) -> register_request::Memory {
        let Some(export) = &self.export else {
            return register_request::Memory::Host(v1::HostMemory {});
        };
        let allocations = export.allocations().iter();
        register_request::Memory::Cuda(v1::CudaMemory {
            gpu_uuid: Bytes::copy_from_slice(&export.uuid().0),
            allocations: allocations
                .map(|allocation| Bytes::copy_from_slice(&allocation.handle.0))
                .collect(),
            points: export
                .events()
                .map(|event| Bytes::copy_from_slice(&event.0))
                .collect(),
            ring: ring.map(Ring::message),
        })
    }

    /// Bytes of one block hash.
    pub fn hash_bytes(&self) -> u32 {
        self.hash_bytes
    }
}

fn export(groups: &[v1::GroupLayout]) -> Result<Arc<Export>> {
    let layers = groups.iter().flat_map(|group| &group.layers);
    Export::new(layers.map(|layer| layer.base_address))
        .map(Arc::new)
        .map_err(of_core)
}

fn of_core(error: pegaflow_core::error::Error) -> ClientError {
    ClientError::new(ClientErrorKind::Config, error.message())
}

impl GroupJson {
    fn checked(self) -> Result<v1::GroupLayout> {
        let layers: Vec<LayerLayout> = self.layers.into_iter().map(LayerLayout::from).collect();
        BlockLayout::new(self.num_blocks, &layers).map_err(|error| {
            ClientError::new(
                ClientErrorKind::Config,
                format!("cache group {}: {}", self.group, error.message()),
            )
        })?;
        let layers = layers.into_iter().map(to_message).collect();
        Ok(v1::GroupLayout {
            group: self.group,
            num_blocks: self.num_blocks,
            layers,
        })
    }
}

impl From<LayerJson> for LayerLayout {
    fn from(layer: LayerJson) -> Self {
        Self {
            name: layer.name,
            base_address: layer.base_address,
            block_stride: layer.block_stride,
            segments: layer
                .segments
                .into_iter()
                .map(|(offset, length)| Segment { offset, length })
                .collect(),
        }
    }
}

fn to_message(layer: LayerLayout) -> v1::LayerLayout {
    let segments = layer.segments.into_iter();
    v1::LayerLayout {
        name: layer.name,
        base_address: layer.base_address,
        block_stride: layer.block_stride,
        allocation: 0,
        segments: segments
            .map(|segment| v1::Segment {
                offset: segment.offset,
                length: segment.length,
            })
            .collect(),
    }
}

impl WorkerConfig {
    pub(super) fn attach_request(&self, identity: &EngineIdentity) -> AttachRequest {
        AttachRequest {
            version: Some(PROTOCOL_VERSION),
            engine_key: Bytes::copy_from_slice(&identity.engine_key),
            engine_id: self.engine_id.clone(),
            client_version: env!("CARGO_PKG_VERSION").to_owned(),
            role: Some(attach_request::Role::Worker(WorkerRole {
                rank: self.rank,
                shard: self.shard,
            })),
        }
    }

    pub(super) fn register_request(
        &self,
        session_id: u64,
        identity: &EngineIdentity,
        ring: Option<&Ring>,
    ) -> RegisterRequest {
        RegisterRequest {
            session_id,
            namespace: Bytes::copy_from_slice(&identity.namespace),
            hash_bytes: self.layout.hash_bytes,
            groups: self.layout.groups.clone(),
            memory: Some(self.layout.memory(ring)),
        }
    }
}
