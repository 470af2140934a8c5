//! Accepts connections and serves both services on them.

use std::convert::Infallible;
use std::future::pending;
use std::io;
use std::os::unix::net::UnixListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use pegaflow_core::error::{Error, Result};
use pegaflow_proto::limits::MESSAGE_BYTES;
use pegaflow_proto::v1::control_server::ControlServer;
use pegaflow_proto::v1::engine_server::EngineServer;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;

use super::control::ControlService;
use super::engine::EngineService;
use super::layer::CallLayer;
use crate::connections::{Acceptor, Connection};
use crate::daemon::Daemon;
use crate::socket::SocketPlace;

/// How long calls may take to be answered after the daemon has drained.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// How often it is looked whether the socket is where engines look for it.
const LOOK: Duration = Duration::from_secs(1);

/// Serves at most so many connections at once, until the daemon has drained and the calls under way are answered.
///
/// # Errors
/// When the socket cannot be served at all.
pub(crate) async fn serve(
    daemon: Arc<Daemon>,
    place: &mut SocketPlace,
    listener: StdListener,
    connections: usize,
) -> io::Result<()> {
    let listener = UnixListener::from_std(listener)?;
    let (accepted, incoming) = mpsc::channel(16);
    let accepting = accept(&daemon, place, listener, connections, accepted);
    let drained = Arc::clone(&daemon);
    let calls = Server::builder()
        .layer(CallLayer(daemon.metrics.rpc.clone()))
        .add_service(
            EngineServer::new(EngineService(Arc::clone(&daemon)))
                .max_decoding_message_size(MESSAGE_BYTES)
                .max_encoding_message_size(MESSAGE_BYTES),
        )
        .add_service(ControlServer::new(ControlService(Arc::clone(&daemon))))
        .serve_with_incoming_shutdown(ReceiverStream::new(incoming), async move {
            drained.lifecycle.wait_drained().await;
        });
    let bounded = async {
        daemon.lifecycle.wait_drained().await;
        sleep(LAST_ANSWERS).await;
    };
    tokio::select! {
        served = calls => served.map_err(io::Error::other),
        () = bounded => Ok(()),
        never = accepting => match never {},
    }
}

/// Accepts for ever, at most so many at once, where the socket is, and where it has to be made again.
async fn accept(
    daemon: &Daemon,
    place: &mut SocketPlace,
    mut listener: UnixListener,
    most: usize,
    accepted: mpsc::Sender<io::Result<Connection<UnixStream>>>,
) -> Infallible {
    let mut acceptor = Acceptor::new("the socket", most);
    let mut looks = interval(LOOK);
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_told = false;
    loop {
        tokio::select! {
            connection = acceptor.next(|| stream(&listener)) => {
                // Nothing is served any more once the daemon has drained.
                if accepted.send(Ok(connection)).await.is_err() {
                    return pending().await;
                }
            }
            _ = looks.tick() => match restore(daemon, place) {
                Ok(restored) => {
                    is_told = false;
                    listener = restored.unwrap_or(listener);
                }
                Err(error) if !is_told => {
                    is_told = true;
                    tracing::error!("no engine can attach, as what was removed cannot be made again: {error}");
                }
                Err(_) => {}
            },
        }
    }
}

fn restore(daemon: &Daemon, place: &mut SocketPlace) -> Result<Option<UnixListener>> {
    let restored = place.restore(&daemon.boot)?;
    let listener = restored.map(UnixListener::from_std).transpose();
    listener.map_err(|error| Error::io("listen at the socket", error))
}

async fn stream(listener: &UnixListener) -> io::Result<UnixStream> {
    let (stream, _) = listener.accept().await?;
    Ok(stream)
}
