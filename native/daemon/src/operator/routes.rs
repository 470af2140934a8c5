//! The HTTP interface. Only operations change the daemon's state.

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::http::{StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;

use super::events::events;
use super::operate::{BODY_BYTES_MAX, operate};
use crate::daemon::Daemon;
use crate::status::{self, Readiness, State};
use crate::telemetry::Exposition;

/// Prometheus' text form.
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the paths of operations begin with.
const OPERATIONS: &str = "/v1/operations/";

/// All paths.
pub(super) fn router(daemon: Arc<Daemon>, exposition: Exposition) -> Router {
    let exposition = Arc::new(exposition);
    let (for_readiness, for_status) = (Arc::clone(&daemon), Arc::clone(&daemon));
    let for_events = Arc::clone(&daemon);
    Router::new()
        .route("/healthz", get(async || Json(json!({"status": "alive"}))))
        .route("/readyz", get(async move || readiness(&for_readiness)))
        .route("/metrics", get(async move || metrics(&exposition)))
        .route(
            "/v1/events",
            get(async move |wanted| events(&for_events, wanted).await),
        )
        .route("/v1/status", get(async move || status_document(&for_status)))
        .route(
            &format!("{OPERATIONS}{{name}}"),
            post(async move |name, usage, request| operate(daemon, name, usage, request).await)
                .layer(DefaultBodyLimit::max(BODY_BYTES_MAX)),
        )
        .fallback(unknown)
        .method_not_allowed_fallback(not_allowed)
}

fn readiness(daemon: &Daemon) -> Response {
    let readiness = Readiness::of(daemon);
    let code = match readiness.state {
        State::Ready | State::Degraded => StatusCode::OK,
        State::Starting | State::Draining => StatusCode::SERVICE_UNAVAILABLE,
    };
    (code, Json(readiness)).into_response()
}

fn metrics(exposition: &Exposition) -> Response {
    match exposition.text() {
        Ok(text) => ([(header::CONTENT_TYPE, METRICS_TYPE)], text).into_response(),
        Err(error) => failed(&error.to_string()),
    }
}

fn status_document(daemon: &Daemon) -> Response {
    match status::json(daemon) {
        Ok(json) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
        Err(error) => failed(error.message()),
    }
}

fn failed(why: &str) -> Response {
    (StatusCode::INTERNAL_SERVER_ERROR, Json(json!({"error": why}))).into_response()
}

async fn unknown(uri: Uri) -> Response {
    let error = format!(
        "{} is not served: /healthz, /readyz, /metrics, /v1/status, /v1/events and /v1/operations/NAME are",
        uri.path()
    );
    (StatusCode::NOT_FOUND, Json(json!({"error": error}))).into_response()
}

async fn not_allowed(uri: Uri) -> Response {
    let method = if uri.path().starts_with(OPERATIONS) {
        "POST"
    } else {
        "GET"
    };
    let error = format!("only {method} is allowed for {}", uri.path());
    (StatusCode::METHOD_NOT_ALLOWED, Json(json!({"error": error}))).into_response()
}
