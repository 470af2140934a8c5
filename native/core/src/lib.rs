//! The cache itself: pool, index, eviction, leases, grants and copy engines.
//!
//! Knows nothing of gRPC, HTTP, Python or vLLM.

pub mod error;
