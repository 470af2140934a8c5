//! NVIDIA GPUs, through the driver's library, which is opened at run time: one build for machines with CUDA 12, with CUDA 13
//! and with no GPU.
//!
//! The daemon's side is [`Gpus`]: contexts, streams, mapped memory of engines and the pinned pool. An engine's side is
//! [`Export`]: handles of its memory, and events that say how far its stream is; and [`Gather`].

mod device_memory;
mod driver;
mod event;
mod export;
mod gather;
mod gpu;
mod gpus;
mod ipc;
mod lost;
mod pace;
mod pinned;
mod queue;
mod round_trip;
mod settings;
mod staging;
mod stream;
mod usage;

#[cfg(test)]
mod tests;

pub use event::EVENTS;
pub use export::{Export, ExportedAllocation, StreamPoint};
pub use gather::{Gather, PAGES_PER_MOVE, RING_BYTES, Ring, Scatter};
pub use gpu::{Gpu, GpuUuid};
pub use gpus::{EngineSnapshot, GpuSnapshot, Gpus, GpusSnapshot, RingSnapshot};
pub use ipc::{EventHandle, HANDLE_BYTES, MemoryHandle};
pub use lost::before_end;
pub use settings::{CopyStrategy, CopyWay, GpuSettings};

pub(crate) use gpus::Device;
pub(crate) use ipc::{Mapping, PeerEvent};
pub(crate) use lost::end_process;
pub(crate) use pinned::PinnedPool;
pub(crate) use staging::BUFFER_BYTES;
pub(crate) use stream::{Begun, Direction, Piece, Streams};
