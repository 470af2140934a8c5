//! Daemons and engines in processes of their own, for tests that kill them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const PATIENCE: Duration = Duration::from_secs(30);
const PROGRAM: &str = env!("CARGO_BIN_EXE_pegaflow-test-process");

/// A process of `tests/process/main.rs`; killed when dropped.
pub(crate) struct Child {
    process: process::Child,
    /// What it said once it was ready.
    pub(crate) said: Value,
}

impl Child {
    /// Starts it and waits until it is ready.
    pub(crate) fn start(what: &str, arguments: &str) -> Self {
        Self::spawn(Command::new(PROGRAM).args([what, arguments]))
    }

    /// Starts it with more in its environment.
    pub(crate) fn start_with(what: &str, arguments: &str, environment: &[(&str, &str)]) -> Self {
        Self::spawn(
            Command::new(PROGRAM)
                .args([what, arguments])
                .envs(environment.iter().copied()),
        )
    }

    /// Starts it with so few descriptors.
    pub(crate) fn start_with_descriptors(descriptors: usize, what: &str, arguments: &str) -> Self {
        let limited = format!("ulimit -n {descriptors} && exec \"$@\"");
        Self::spawn(Command::new("sh").args(["-c", &limited, "sh", PROGRAM, what, arguments]))
    }

    /// Starts it as another user, from a copy in `directory`: the build's own may be out of that user's reach.
    pub(crate) fn start_as(user: u32, directory: &Path, what: &str, arguments: &str) -> Self {
        let program = directory.join("process");
        fs::copy(PROGRAM, &program).unwrap();
        Self::spawn(Command::new(program).args([what, arguments]).uid(user).gid(user))
    }

    /// Starts it and kills it after a time, whether it is ready by then or not.
    pub(crate) fn start_and_kill(what: &str, arguments: &str, after: Duration) {
        let mut process = Command::new(PROGRAM)
            .args([what, arguments])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        thread::sleep(after);
        process.kill().unwrap();
        process.wait().unwrap();
    }

    fn spawn(command: &mut Command) -> Self {
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let said = serde_json::from_str(&line).unwrap_or_else(|error| panic!("it said {line:?}: {error}"));
        Self { process, said }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Ends the processes that keep an engine's connections open.
    pub(crate) fn end_keepers(&self) {
        for keeper in self.said["keepers"].as_array().unwrap() {
            let keeper = Pid::from_raw(keeper.as_i64().unwrap().try_into().unwrap()).unwrap();
            kill_process(keeper, Signal::KILL).unwrap();
        }
    }

    /// SIGKILL, and the process is gone.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(self.pid().cast_signed()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits until SIGSTOP has stopped it.
    pub(crate) fn wait_stopped(&self) {
        let stat = format!("/proc/{}/stat", self.pid());
        let began = Instant::now();
        while !fs::read_to_string(&stat).unwrap().contains(") T ") {
            assert!(began.elapsed() < PATIENCE, "it does not stop");
            thread::sleep(Duration::from_millis(1));
        }
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
