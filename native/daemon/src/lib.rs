//! The daemon: serves engines and commands over a Unix socket, and operators over HTTP.
//!
//! [`run`] is the whole of it; [`DaemonConfig`] is what it needs to know. Start reading at `run.rs`, then `daemon.rs`.

mod boot;
mod check;
pub mod config;
mod connections;
mod daemon;
mod descriptors;
mod drain;
mod events;
mod lifecycle;
mod logging;
mod operation;
mod operator;
mod otlp;
mod recording;
mod run;
mod service;
mod service_manager;
mod session;
mod socket;
mod ssd_room;
mod status;
mod succession;
mod telemetry;
mod transfer;

pub use boot::VERSION;
pub use check::check;
pub use config::DaemonConfig;
pub use run::{Ready, run};
