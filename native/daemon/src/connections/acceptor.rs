//! Accepting connections for as long as the daemon lives.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::yield_now;
use tokio::time::sleep;

use super::{Connection, Connections};

/// How long to wait when the system has no room for another connection; twice as long each time again.
const AGAIN: Duration = Duration::from_millis(10);
/// The longest wait.
const AGAIN_MAX: Duration = Duration::from_millis(320);
/// How often trouble is logged.
const TELL: Duration = Duration::from_secs(10);

/// Accepts the connections of one server.
#[derive(Debug)]
pub(crate) struct Acceptor {
    /// What is served, for the log.
    server: &'static str,
    connections: Arc<Connections>,
    /// Connections that were not served since the log has last said so.
    untold: u64,
    told: Option<Instant>,
}

impl Acceptor {
    /// Accepts at most so many at once.
    pub(crate) fn new(server: &'static str, most: usize) -> Self {
        Self {
            server,
            connections: Connections::new(most),
            untold: 0,
            told: None,
        }
    }

    /// The next connection. One that fails ends nothing, and a system out of descriptors is asked again.
    pub(crate) async fn next<S, F>(&mut self, accept: impl Fn() -> F) -> Connection<S>
    where
        F: Future<Output = io::Result<S>>,
    {
        let mut again = AGAIN;
        loop {
            // Those that had to make room let go of their descriptors before another is accepted.
            yield_now().await;
            match accept().await {
                Ok(stream) => {
                    if let Some(connection) = self.connections.admit(stream) {
                        return connection;
                    }
                    let most = self.connections.most;
                    self.tell(&format!("{most} are in use, and there is no room for more"));
                }
                Err(error) => {
                    self.tell(&error.to_string());
                    sleep(again).await;
                    again = AGAIN_MAX.min(2 * again);
                }
            }
        }
    }

    fn tell(&mut self, why: &str) {
        self.untold += 1;
        if self.told.is_none_or(|told| told.elapsed() >= TELL) {
            let (server, count) = (self.server, self.untold);
            tracing::warn!(count, "connections to {server} cannot be accepted: {why}");
            self.untold = 0;
            self.told = Some(Instant::now());
        }
    }
}
