//! The limits of `native/docs/protocol.md`: what one message or session may hold.

/// Bytes of one encoded message, in both directions.
pub const MESSAGE_BYTES: usize = 8 << 20;
/// Block hashes in one call.
pub const HASHES_PER_CALL: usize = 65_536;
/// Blocks in one save or load.
pub const BLOCKS_PER_TRANSFER: usize = 16_384;
/// Segments in one block of one worker, over all its layers.
pub const SEGMENTS_PER_BLOCK: usize = 65_536;
/// Layers in one cache group.
pub const LAYERS_PER_GROUP: usize = 4_096;
/// Allocations that one worker's layers lie in.
pub const ALLOCATIONS: usize = 4_096;
/// Points of its stream that one worker can name at one time.
pub const POINTS: usize = 1_024;
/// Engine sessions at one time.
pub const SESSIONS: usize = 1_024;
/// Leases that one session holds at one time.
pub const LEASES_PER_SESSION: usize = 65_536;
/// Bytes of the longest name: an engine id, a model, a layer, a request id.
pub const NAME_BYTES: usize = 1_024;
/// Workers of one engine.
pub const WORKERS: u32 = 1_024;
/// Bytes of an engine key.
pub const ENGINE_KEY_BYTES: usize = 16;
/// Bytes of a namespace.
pub const NAMESPACE_BYTES: usize = 32;
/// The fewest bytes of a block hash.
pub const HASH_BYTES_MIN: u32 = 8;
/// The most bytes of a block hash.
pub const HASH_BYTES_MAX: u32 = 32;
