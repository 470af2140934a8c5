//! `GET /v1/events`: what happened, and what happens next.

use std::time::Duration;

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use crate::daemon::Daemon;

/// The longest wait for an event, in seconds.
const WAIT_MAX_S: f64 = 30.0;

/// What a reader asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// The number of the last event that it has.
    #[serde(default)]
    after: u64,
    /// Seconds that it waits for one more.
    #[serde(default)]
    wait: f64,
}

/// The events after a number; without any, once there is one or the wait is over. A number that no event has yet, as one of
/// another start of the daemon, counts as that of the last event.
pub(super) async fn events(daemon: &Daemon, wanted: Result<Query<Wanted>, QueryRejection>) -> Response {
    let wanted = match wanted {
        Ok(Query(wanted)) if (0.0..=WAIT_MAX_S).contains(&wanted.wait) => wanted,
        Ok(_) => return refused(&format!("wait is 0 to {WAIT_MAX_S} seconds")),
        Err(rejection) => return refused(&rejection.body_text()),
    };
    let wait = Duration::from_secs_f64(wanted.wait);
    let after = wanted.after.min(daemon.events.last());
    daemon.events.wait_after(after, wait).await;
    Json(daemon.events.after(after, daemon.boot.id_text())).into_response()
}

fn refused(why: &str) -> Response {
    let error =
        format!("the question for events cannot be read: {why}; allowed: after=NUMBER and wait=SECONDS");
    (StatusCode::BAD_REQUEST, Json(json!({"error": error}))).into_response()
}
