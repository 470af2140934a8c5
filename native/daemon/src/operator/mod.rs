//! What operators reach whatever is stuck: HTTP and signals, on a thread and a runtime of their own.

mod address;
mod operate;
mod routes;
mod signals;
mod token;

use std::io;
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
    /// Starts to serve HTTP, and to react to SIGTERM and SIGINT.
    ///
    /// # Errors
    /// `Io` when the system has no room for it.
    pub(crate) fn start(daemon: &Arc<Daemon>, listener: StdListener) -> Result<Self> {
        let io = |error| Error::io("start the operators' thread", error);
        let runtime = Builder::new_current_thread().enable_all().build().map_err(io)?;
        let entered = runtime.enter();
        let signals = Signals::listen().map_err(io)?;
        let listener = TcpListener::from_std(listener).map_err(io)?;
        drop(entered);
        let daemon = Arc::clone(daemon);
        let work = async move {
            let served = tokio::select! {
                served = serve(&daemon, listener) => served,
                () = signals.drain_or_end(&daemon) => Ok(()),
                () = daemon.lifecycle.wait_ended() => Ok(()),
            };
            if let Err(error) = served {
                tracing::error!("HTTP is not served any more: {error}");
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

async fn serve(daemon: &Arc<Daemon>, listener: TcpListener) -> io::Result<()> {
    let router = routes::router(Arc::clone(daemon), Exposition::new(daemon));
    axum::serve(listener, router).await
}
