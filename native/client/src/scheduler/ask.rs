//! One lookup's call.

use std::sync::Arc;
use std::time::Duration;

use pegaflow_proto::v1::lookup_response::State as Answer;
use pegaflow_proto::v1::{LookupRequest, LookupResponse};
use tokio::time::timeout;
use tonic::Status;

use super::lookup::Lookup;
use super::state::Shared;
use super::table::{Arrival, Token};
use crate::session::Session;

/// A busy engine can wake its thread late, with the answer in the socket since long: it is read before the daemon is blamed.
const LAST_TURN: Duration = Duration::from_millis(2);

/// How long after attaching an engine without all its workers is waited for.
const INCOMPLETE_FOR: Duration = Duration::from_secs(5);

/// Asks, and files the answer whenever it comes.
///
/// The deadline does not cancel the call: only its answer says which lease has to be released.
pub(super) async fn ask(shared: Arc<Shared>, session: Arc<Session>, token: Token, request: LookupRequest) {
    let request_id = request.request_id.clone();
    let mut rpc = session.rpc();
    let call = rpc.lookup(request);
    tokio::pin!(call);
    let mut in_time = timeout(shared.deadline, &mut call).await;
    if in_time.is_err() {
        in_time = timeout(LAST_TURN, &mut call).await;
    }
    let (in_time, answer) = match in_time {
        Ok(answer) => (true, answer),
        Err(_) => {
            overdue(&shared, &session, &request_id, token);
            (false, call.await)
        }
    };
    match answer {
        Ok(answer) => answered(&shared, &session, &request_id, token, in_time, answer.get_ref()),
        Err(status) => failed(&shared, &session, &request_id, token, &status),
    }
    shared.answered.notify_all();
}

fn overdue(shared: &Shared, session: &Arc<Session>, request_id: &str, token: Token) {
    let mut state = shared.lock();
    if !state.is_current(session) {
        return;
    }
    state.table.failed(request_id, token);
    state.counters.timeouts += 1;
    if state.breaker.overdue() {
        state.counters.breaker_opened += 1;
        shared.breaker_opened.notify_one();
        tracing::warn!("the daemon does not answer lookups; serving without the cache until it does");
    }
    drop(state);
    shared.answered.notify_all();
}

fn answered(
    shared: &Shared,
    session: &Arc<Session>,
    request_id: &str,
    token: Token,
    in_time: bool,
    answer: &LookupResponse,
) {
    session.observe_boot(answer.boot_id);
    let mut state = shared.lock();
    if !state.is_current(session) {
        return;
    }
    state.counters.answers += 1;
    if in_time {
        state.breaker.answered();
    }
    let lookup = match answer.state() {
        Answer::Pending => return state.table.pending(request_id, token),
        Answer::EngineIncomplete if session.age() < INCOMPLETE_FOR => {
            return state.table.pending(request_id, token);
        }
        Answer::EngineIncomplete => Lookup::NO_HITS,
        Answer::Ready | Answer::Unspecified => Lookup::of_answer(answer),
    };
    if state.table.answered(request_id, token, lookup) == Arrival::Unwanted {
        shared.discard(&mut state, &lookup);
    }
}

fn failed(shared: &Shared, session: &Arc<Session>, request_id: &str, token: Token, status: &Status) {
    session.observe_error(status);
    tracing::debug!(request_id, %status, "a lookup failed");
    let mut state = shared.lock();
    if state.is_current(session) {
        state.table.failed(request_id, token);
    }
}
