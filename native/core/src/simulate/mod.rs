//! What a cache would have hit: the policies of the daemon, and the clairvoyant bound, over recorded requests.
//!
//! As in the daemon, the longest cached prefix of each request counts as hit and all its blocks are cached afterwards.

mod belady;
mod cache;
mod curve;
mod requests;
mod routing;
#[cfg(test)]
pub(crate) mod tests;
mod tiers;

pub use belady::belady;
#[cfg(test)]
pub(crate) use cache::fingerprint;
pub use cache::{SimulatedCache, policy};
pub use curve::{Contender, curve};
pub use requests::{Request, Requests};
pub use routing::{Routing, private_pools};
pub use tiers::{TierHits, tiers};
