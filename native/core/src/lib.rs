//! The cache itself: pool, index, eviction, leases, grants and copy engines.
//!
//! Knows nothing of gRPC, HTTP, Python or vLLM.

mod arena;
pub mod budget;
mod checksum;
pub mod copy;
pub mod count;
pub mod cuda;
pub mod demand;
pub mod error;
pub mod eviction;
pub mod grant;
mod index;
pub mod layout;
pub mod lease;
pub mod pause;
pub mod pool;
pub mod process;
pub mod progress;
pub mod self_test;
pub mod simulate;
pub mod space;
pub mod ssd;
pub mod store;
mod sync;
mod what_if;

pub use what_if::{Curve, CurvePoint};
