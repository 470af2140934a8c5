//! Serving HTTP to clients of whom nothing is known.

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::net::sockopt::set_tcp_user_timeout;
use tokio::net::{TcpListener, TcpStream};
use tower::ServiceExt;

use crate::connections::{Acceptor, Connection};

/// How long the head of a request may take, from the moment on when the connection is open, or the answer before is sent.
const HEAD: Duration = Duration::from_secs(10);
/// How long a client may take none of the bytes that are sent to it.
const UNSENT_MS: u32 = 10_000;

/// Serves for ever, at most so many connections at once.
pub(super) async fn serve(router: Router, listener: TcpListener, most: usize) -> Infallible {
    let mut acceptor = Acceptor::new("HTTP", most);
    loop {
        let connection = acceptor.next(|| accept(&listener)).await;
        tokio::spawn(answer(router.clone(), connection));
    }
}

async fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    let (stream, _) = listener.accept().await?;
    set_tcp_user_timeout(&stream, UNSENT_MS)?;
    Ok(stream)
}

/// Answers the requests of one connection, which each carry what says that it is in use.
async fn answer(router: Router, connection: Connection<TcpStream>) {
    let usage = connection.usage().clone();
    let service = router.map_request(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(usage.clone());
        request
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(connection), TowerToHyperService::new(service))
        .await;
    if let Err(error) = served {
        tracing::debug!("an HTTP connection ended: {error}");
    }
}
