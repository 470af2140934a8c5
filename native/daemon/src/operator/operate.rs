//! `POST /v1/operations/NAME`: an operation, for those who have the token.

use std::path::PathBuf;
use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::Path;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use pegaflow_core::error::{Error, ErrorKind};
use serde_json::json;
use tokio::task::spawn_blocking;

use super::Token;
use crate::daemon::Daemon;
use crate::operation::{Operation, Running};

/// The most bytes that an operation's fields can have.
pub(super) const BODY_BYTES_MAX: usize = 64 << 10;

/// Does one operation; answers when it has ended. One whose client closes its connection ends early.
pub(super) async fn operate(
    daemon: Arc<Daemon>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    let Some(token_file) = daemon.config.http_token_file.clone() else {
        let sentence =
            "HTTP changes nothing on this daemon: start it with --http-token-file, or use the socket";
        return refused(StatusCode::FORBIDDEN, sentence);
    };
    let Some(token) = read(token_file).await else {
        let sentence =
            "HTTP changes nothing now, as http_token_file cannot be used: the daemon's log says why";
        return refused(StatusCode::FORBIDDEN, sentence);
    };
    if !token.admits(headers.get(header::AUTHORIZATION)) {
        let sentence = "the token is missing or another one: send `Authorization: Bearer TOKEN` with that of http_token_file";
        let answer = refused(StatusCode::UNAUTHORIZED, sentence);
        return ([(header::WWW_AUTHENTICATE, "Bearer")], answer).into_response();
    }
    let body = match body {
        Ok(body) => body,
        Err(rejection) => return refused(rejection.status(), &rejection.body_text()),
    };
    match run(&daemon, &name, &body).await {
        Ok(result) => ([(header::CONTENT_TYPE, "application/json")], result).into_response(),
        Err(error) => refused(code_of(error.kind()), error.message()),
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
        ErrorKind::Config | ErrorKind::Invalid => StatusCode::BAD_REQUEST,
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
