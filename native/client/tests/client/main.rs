//! The client against a daemon that does what the test says.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

mod breaker;
mod control;
mod fake;
mod forks;
mod leases;
mod lookups;
mod sessions;
mod stage;
mod transfers;
