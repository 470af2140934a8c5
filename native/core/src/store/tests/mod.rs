//! Tests of the store, by property.

mod accounts;
mod fixture;
mod lookup;
mod machine;
mod partial;
mod pressure;
mod saving;
mod slab_moves;
mod spaces;
mod stress;

pub(crate) use fixture::{Fixture, Hash, MIB};
