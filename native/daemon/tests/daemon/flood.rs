//! Thousands of connections that nobody speaks on keep nobody out.

use std::io::Write;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use pegaflow_daemon::DaemonConfig;
use pegaflow_proto::v1::StatusRequest;
use pegaflow_proto::v1::control_client::ControlClient;
use tempfile::TempDir;

use crate::support::engine::{Engine, Shape, connect, fresh_hashes};
use crate::support::half_open::{KINDS, raise_descriptors};
use crate::support::{Child, TOKEN, config, eventually, get, token_file};

const CONNECTIONS: usize = 2_000;
/// Far fewer than that.
const DESCRIPTORS: usize = 512;
/// A second, with room for a machine that does ten things at once.
const AT_ONCE: Duration = Duration::from_secs(5);

struct Host {
    _directory: TempDir,
    settings: DaemonConfig,
    daemon: Child,
}

impl Host {
    async fn start() -> Self {
        raise_descriptors();
        let directory = tempfile::tempdir().unwrap();
        let mut settings = config(directory.path());
        settings.http_token_file = Some(token_file(&settings.socket, TOKEN));
        let said = serde_json::to_string(&settings).unwrap();
        let host = Self {
            _directory: directory,
            settings,
            daemon: Child::start_with_descriptors(DESCRIPTORS, "daemon", &said),
        };
        eventually("the pool is whole", async || {
            get(host.http(), "/readyz").code == 200
        })
        .await;
        host
    }

    fn http(&self) -> &str {
        self.daemon.said["http_addr"].as_str().unwrap()
    }

    fn socket(&self) -> &Path {
        &self.settings.socket
    }

    /// Operators are answered, and an engine attaches and is served.
    async fn serves(&self, during: &str) {
        let began = Instant::now();
        assert_eq!(get(self.http(), "/readyz").code, 200);
        let mut engine = Engine::start(self.socket(), &Shape::new()).await;
        let hashes = fresh_hashes(1);
        engine.save(&hashes, &[0]).await;
        assert_eq!(engine.lookup(&hashes).await.memory_blocks, 1, "{during}");
        let took = began.elapsed();
        assert!(took < AT_ONCE, "{during}: {took:?}");
    }
}

#[tokio::test]
async fn half_open_http_keeps_neither_operators_nor_engines_out() {
    let host = Host::start().await;
    let mut engine = Engine::start(host.socket(), &Shape::new()).await;
    for kind in KINDS {
        let held = (0..CONNECTIONS).map(|_| kind.open(host.http(), TOKEN));
        let _held: Vec<TcpStream> = held.collect();
        host.serves(&format!("{kind:?}")).await;
    }
    let hashes = fresh_hashes(1);
    engine.save(&hashes, &[0]).await;
}

/// The bytes that each HTTP/2 connection begins with, and settings that say nothing.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";

#[tokio::test]
async fn connections_to_the_socket_that_are_not_in_use_keep_no_engine_out() {
    let host = Host::start().await;
    let mut engine = Engine::start(host.socket(), &Shape::new()).await;
    for said in [&[], &PREFACE[..10], PREFACE] {
        let _held: Vec<UnixStream> = (0..CONNECTIONS)
            .map(|_| {
                let mut stream = UnixStream::connect(host.socket()).unwrap();
                // It may have had to make room already.
                drop(stream.write(said));
                stream
            })
            .collect();
        host.serves(&format!("{} bytes of HTTP/2", said.len())).await;
    }
    let mut held = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut client = ControlClient::new(connect(host.socket()).await);
        client.status(StatusRequest {}).await.unwrap();
        held.push(client);
    }
    host.serves("clients that have asked once").await;
    // What was in use all the time is as it was.
    let hashes = fresh_hashes(1);
    engine.save(&hashes, &[0]).await;
    assert_eq!(engine.lookup(&hashes).await.memory_blocks, 1);
}
