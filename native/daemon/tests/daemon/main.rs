//! The daemon over its real socket: one file a property.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test ends where it fails"
)]

mod support;

mod bad_input;
mod drain;
mod http;
mod idle;
mod killed_engine;
mod leases;
mod metrics;
mod one_daemon;
mod revoke;
mod round_trip;
mod sessions;
mod status;
