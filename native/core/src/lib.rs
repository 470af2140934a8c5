//! The cache itself: pool, index, eviction, leases, grants and copy engines.
//!
//! Knows nothing of gRPC, HTTP, Python or vLLM.

pub mod error;
pub mod eviction;
pub mod lease;
pub mod pool;
pub mod space;
pub mod store;
mod sync;
