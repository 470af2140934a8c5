//! The daemon over its real socket: one file a property.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test ends where it fails"
)]

mod support;

mod accounts;
mod bad_input;
mod cancelled_operations;
mod chains;
mod copy_failure;
mod drain;
mod events;
mod flood;
mod group;
mod http;
mod http_operations;
mod idle;
mod killed_engine;
mod large_messages;
mod leases;
mod metrics;
mod one_daemon;
mod operations;
mod otlp;
mod otlp_transport;
mod path_offline;
mod recording;
mod removed_files;
mod restarted;
mod revoke;
mod round_trip;
mod same_blocks;
mod service_manager;
mod session_limit;
mod sessions;
mod shard_copies;
mod silent_clients;
mod ssd_kills;
mod status;
mod stuck;
mod tier_paths;
mod tiers;
