//! A daemon in a thread of the test's own process, in a directory of its own.

use std::path::Path;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pegaflow_core::error::Result;
use pegaflow_daemon::{DaemonConfig, Ready, run};
use pegaflow_proto::v1::control_client::ControlClient;
use pegaflow_proto::v1::{StatusRequest, StopRequest, StopResponse};
use serde_json::{Value, json};
use tempfile::TempDir;
use tonic::transport::Channel;

use super::engine::connect;
use super::http::get;

/// The settings of a small daemon whose socket is in `directory`.
pub(crate) fn config(directory: &Path) -> DaemonConfig {
    let settings = json!({
        "socket": directory.join("daemon.sock"),
        "http_addr": "127.0.0.1:0",
        "pool_bytes": 64 << 20,
        "log_level": "warn",
    });
    DaemonConfig::from_json(&settings.to_string()).unwrap()
}

/// A daemon that runs until it is stopped, or dropped.
pub(crate) struct Daemon {
    pub(crate) ready: Ready,
    directory: TempDir,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Daemon {
    pub(crate) fn start() -> Self {
        Self::start_with(|_| {})
    }

    pub(crate) fn start_with(adjust: impl FnOnce(&mut DaemonConfig)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut config = config(directory.path());
        adjust(&mut config);
        let (answer, ready) = mpsc::channel();
        let thread = thread::spawn(move || {
            run(config, Vec::new(), |ready| {
                answer.send(ready.clone()).unwrap();
                Ok(())
            })
        });
        let Ok(ready) = ready.recv() else {
            panic!("the daemon did not start: {:?}", thread.join());
        };
        let daemon = Self {
            ready,
            directory,
            thread: Some(thread),
        };
        daemon.wait_ready();
        daemon
    }

    /// Before, saves may find no room.
    fn wait_ready(&self) {
        while get(&self.ready.http_addr, "/readyz").code != 200 {
            thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.ready.socket
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) async fn control(&self) -> ControlClient<Channel> {
        ControlClient::new(connect(self.socket()).await)
    }

    pub(crate) async fn status(&self) -> Value {
        let answer = self
            .control()
            .await
            .status(StatusRequest {})
            .await
            .unwrap()
            .into_inner();
        serde_json::from_slice(&answer.json).unwrap()
    }

    /// Stops it and waits for its end.
    pub(crate) async fn stop(mut self) -> StopResponse {
        let answer = self
            .control()
            .await
            .stop(StopRequest { purge: true })
            .await
            .unwrap()
            .into_inner();
        self.join().unwrap();
        answer
    }

    /// Waits for the end of a daemon that was told to end.
    pub(crate) fn join(&mut self) -> Result<()> {
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        let socket = self.ready.socket.clone();
        // A runtime cannot be started within the test's own.
        let stopped = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let mut control = ControlClient::new(connect(&socket).await);
                drop(control.stop(StopRequest { purge: true }).await);
            });
        });
        drop(stopped.join());
        drop(thread.join());
    }
}
