//! The client against a daemon that does what the test says.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod breaker;
mod broken;
mod control;
mod errors;
mod fake;
mod forks;
mod leases;
mod lookups;
mod operations;
mod pending;
mod proxy;
mod sessions;
mod stage;
mod transfers;
