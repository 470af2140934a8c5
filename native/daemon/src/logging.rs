//! Log lines on standard error, as text or JSON.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::config::{DaemonConfig, LogFormat, LogLevel};

/// Starts logging, unless the process that embeds the daemon logs already.
pub(crate) fn start(config: &DaemonConfig) {
    let level = match config.log_level {
        LogLevel::Error => "error",
        LogLevel::Warn => "warn",
        LogLevel::Info => "info",
        LogLevel::Debug => "debug",
        LogLevel::Trace => "trace",
    };
    let quiet = "h2=warn,hyper=warn,hyper_util=warn,tower=warn,tonic=warn,axum=warn";
    let lines = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(format!("{level},{quiet}")))
        .with_writer(io::stderr)
        .with_ansi(false);
    let started = match config.log_format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    if started.is_err() {
        tracing::debug!("the embedding process has a log already");
    }
}
