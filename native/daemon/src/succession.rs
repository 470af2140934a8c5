//! Another daemon in this one's place, when it loses its GPU and nobody else starts one.

use std::ffi::OsString;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use pegaflow_core::cuda;
use pegaflow_core::error::{Error, ErrorKind, Result};

use crate::boot::Boot;

/// A daemon that has lived for less is likely to lose its GPU again.
const SHORTEST_LIFE: Duration = Duration::from_secs(60);

/// Has the daemon start `words`, a program with its arguments, when its GPU is lost; none: it starts nothing.
pub(crate) fn prepare(boot: &Boot, words: Vec<OsString>) {
    let Some((program, arguments)) = words.split_first() else {
        return;
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    let started = boot.started;
    cuda::before_end(move || match start(command, started.elapsed()) {
        Ok(next) => tracing::warn!(pid = next.id(), "another daemon is started in its place"),
        Err(error) => tracing::error!("no other daemon is started: {error}"),
    });
}

/// Starts the successor of a daemon that has lived so long.
fn start(mut command: Command, lived: Duration) -> Result<Child> {
    if lived < SHORTEST_LIFE {
        let text = format!(
            "this one has lived for {} s only; see to the GPU, and start the daemon again",
            lived.as_secs()
        );
        return Err(Error::new(ErrorKind::GpuLost, text));
    }
    command
        .spawn()
        .map_err(|error| Error::io(format!("run {}", command.get_program().display()), error))
}

#[cfg(test)]
mod tests;
