//! Accepts connections and serves both services on them.

use std::io;
use std::os::unix::net::UnixListener as StdListener;
use std::sync::Arc;
use std::time::Duration;

use pegaflow_proto::limits::MESSAGE_BYTES;
use pegaflow_proto::v1::control_server::ControlServer;
use pegaflow_proto::v1::engine_server::EngineServer;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Server;

use super::control::ControlService;
use super::engine::EngineService;
use super::layer::CallLayer;
use crate::connections::{Acceptor, Connection};
use crate::daemon::Daemon;

/// How long calls may take to be answered after the daemon has drained.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// Serves at most so many connections at once, until the daemon has drained and the calls under way are answered.
///
/// # Errors
/// When the socket cannot be served at all.
pub(crate) async fn serve(daemon: Arc<Daemon>, listener: StdListener, connections: usize) -> io::Result<()> {
    let listener = UnixListener::from_std(listener)?;
    let (accepted, incoming) = mpsc::channel(16);
    let accepting = tokio::spawn(accept(listener, connections, accepted));
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
    let served = tokio::select! {
        served = calls => served.map_err(io::Error::other),
        () = bounded => Ok(()),
    };
    accepting.abort();
    served
}

/// Accepts for ever, at most so many at once.
async fn accept(
    listener: UnixListener,
    most: usize,
    accepted: mpsc::Sender<io::Result<Connection<UnixStream>>>,
) {
    let mut acceptor = Acceptor::new("the socket", most);
    loop {
        let connection = acceptor.next(|| stream(&listener)).await;
        if accepted.send(Ok(connection)).await.is_err() {
            return;
        }
    }
}

async fn stream(listener: &UnixListener) -> io::Result<UnixStream> {
    let (stream, _) = listener.accept().await?;
    Ok(stream)
}
