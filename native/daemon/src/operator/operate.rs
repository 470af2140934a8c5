//! `POST /v1/operations/NAME`: an operation, for those who have the token.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, Path, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use pegaflow_core::error::{Error, ErrorKind};
use serde_json::json;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::Token;
use crate::connections::Usage;
use crate::daemon::Daemon;
use crate::operation::{Operation, Running};

/// The most bytes that an operation's fields can have.
pub(super) const BODY_BYTES_MAX: usize = 64 << 10;
/// How long they may take.
const BODY: Duration = Duration::from_secs(10);

/// Does one operation; answers when it has ended. One whose client closes its connection ends early.
pub(super) async fn operate(
    daemon: Arc<Daemon>,
    Path(name): Path<String>,
    Extension(usage): Extension<Usage>,
    request: Request,
) -> Response {
    // The head is enough to refuse what may not be asked for, whatever follows it.
    if let Err(refusal) = admit(&daemon, request.headers()).await {
        return refusal;
    }
    if let Some(query) = request.uri().query() {
        let sentence =
            format!("?{query} says nothing to an operation: send its fields as JSON, in the request's body");
        return refused(StatusCode::BAD_REQUEST, &sentence);
    }
    let body = match body(request).await {
        Ok(body) => body,
        Err(refusal) => return refusal,
    };
    // Other connections cannot end what is done for somebody who has the token.
    let _in_use = usage.begin();
    match run(&daemon, &name, &body).await {
        Ok(result) => ([(header::CONTENT_TYPE, "application/json")], result).into_response(),
        Err(error) => refused(code_of(error.kind()), error.message()),
    }
}

/// Refuses a request that does not have the token.
async fn admit(daemon: &Daemon, headers: &HeaderMap) -> Result<(), Response> {
    let Some(token_file) = daemon.config.http_token_file.clone() else {
        let sentence =
            "HTTP changes nothing on this daemon: start it with --http-token-file, or use the socket";
        return Err(refused(StatusCode::FORBIDDEN, sentence));
    };
    let Some(token) = read(token_file).await else {
        let sentence =
            "HTTP changes nothing now, as http_token_file cannot be used: the daemon's log says why";
        return Err(refused(StatusCode::FORBIDDEN, sentence));
    };
    if !token.admits(headers.get(header::AUTHORIZATION)) {
        let sentence = "the token is missing or another one: send `Authorization: Bearer TOKEN` with that of http_token_file";
        let answer = refused(StatusCode::UNAUTHORIZED, sentence);
        return Err(([(header::WWW_AUTHENTICATE, "Bearer")], answer).into_response());
    }
    Ok(())
}

/// All of a request's body.
async fn body(request: Request) -> Result<Bytes, Response> {
    match timeout(BODY, Bytes::from_request(request, &())).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(rejection)) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            let sentence = format!(
                "the body has more than {BODY_BYTES_MAX} bytes, which no operation needs: send its fields alone"
            );
            Err(refused(StatusCode::PAYLOAD_TOO_LARGE, &sentence))
        }
        Ok(Err(rejection)) => Err(refused(rejection.status(), &rejection.body_text())),
        Err(_) => {
            let sentence = format!(
                "the body did not come within {} s: send as many bytes as Content-Length says",
                BODY.as_secs()
            );
            Err(refused(StatusCode::REQUEST_TIMEOUT, &sentence))
        }
    }
}

/// The token that the file holds now, so that another one counts at once; None where it cannot be used any more.
async fn read(file: PathBuf) -> Option<Token> {
    match spawn_blocking(move || Token::read(&file)).await.ok()? {
        Ok(token) => Some(token),
        Err(error) => {
            tracing::warn!("an operation over HTTP is refused: {error}");
            None
        }
    }
}

async fn run(daemon: &Arc<Daemon>, name: &str, body: &[u8]) -> Result<String, Error> {
    let operation = Operation::of_name(name, body)?;
    Running::start(daemon, operation)?.result().await
}

fn code_of(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::Config | ErrorKind::Invalid | ErrorKind::Permission => StatusCode::BAD_REQUEST,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Conflict => StatusCode::CONFLICT,
        ErrorKind::Limit => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::NoSpace => StatusCode::INSUFFICIENT_STORAGE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

fn refused(code: StatusCode, sentence: &str) -> Response {
    (code, Json(json!({"error": sentence}))).into_response()
}
