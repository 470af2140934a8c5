//! Tests of the store, by property.

mod fixture;
mod saving;

pub(crate) use fixture::Fixture;
