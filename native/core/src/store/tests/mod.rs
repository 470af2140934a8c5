//! Tests of the store, by property.

mod accounts;
mod answers;
mod chains;
mod checksums;
mod crash_copy;
pub(crate) mod crash_points;
mod demand;
mod fixture;
mod fsck;
mod lookup;
mod machine;
mod namespaces;
mod partial;
mod pressure;
mod resize;
mod saving;
mod slab_moves;
mod spaces;
mod stress;
mod takeover;
mod tiers;

pub(crate) use fixture::{Fixture, Hash, MIB};
