//! Daemons and engines in processes of their own, for tests that kill them.

use std::io::{BufRead, BufReader};
use std::process::{self, Command, ExitStatus, Stdio};

use serde_json::Value;

/// A process of `tests/process/main.rs`; killed when dropped.
pub(crate) struct Child {
    process: process::Child,
    /// What it said once it was ready.
    pub(crate) said: Value,
}

impl Child {
    /// Starts it and waits until it is ready.
    pub(crate) fn start(what: &str, arguments: &str) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_pegaflow-test-process"))
            .args([what, arguments])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{what} said {line:?}: {error}"));
        Self { process, said }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// SIGKILL, and the process is gone.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid().cast_signed()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.process.wait().unwrap()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}
