//! What operators reach whatever is stuck: HTTP and signals, on a thread and a runtime of their own.

mod address;
mod events;
mod operate;
mod routes;
mod server;
mod signals;
mod token;

use std::net::TcpListener as StdListener;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use pegaflow_core::error::{Error, Result};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

pub(crate) use address::bind;
use signals::Signals;
pub(crate) use token::Token;

use crate::daemon::Daemon;
use crate::telemetry::Exposition;

/// The thread, until the daemon has ended.
#[derive(Debug)]
pub(crate) struct Operator(JoinHandle<()>);

impl Operator {
    /// Starts to serve HTTP, at most so many connections at once, and to react to SIGTERM and SIGINT.
    ///
    /// # Errors
    /// `Io` when the system has no room for it.
    pub(crate) fn start(daemon: &Arc<Daemon>, listener: StdListener, connections: usize) -> Result<Self> {
        let io = |error| Error::io("start the operators' thread", error);
        let runtime = Builder::new_current_thread().enable_all().build().map_err(io)?;
        let entered = runtime.enter();
        let signals = Signals::listen().map_err(io)?;
        let listener = TcpListener::from_std(listener).map_err(io)?;
        drop(entered);
        let daemon = Arc::clone(daemon);
        let work = async move {
            let router = routes::router(Arc::clone(&daemon), Exposition::new(&daemon));
            tokio::select! {
                never = server::serve(router, listener, connections) => match never {},
                () = signals.drain_or_end(&daemon) => {}
                () = daemon.lifecycle.wait_ended() => {}
            }
        };
        let thread = thread::Builder::new().name("pega-operator".to_owned());
        thread.spawn(move || runtime.block_on(work)).map(Self).map_err(io)
    }

    /// Waits for the thread's end.
    pub(crate) fn join(self) {
        if self.0.join().is_err() {
            tracing::error!("the operators' thread panicked");
        }
    }
}
