//! One lookup's call.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pegaflow_proto::v1::lookup_response::State as Answer;
use pegaflow_proto::v1::{LookupRequest, LookupResponse};
use tokio::time::{sleep, timeout};
use tonic::{Response, Status};

use super::lookup::Lookup;
use super::state::Shared;
use super::table::{Arrival, Token};
use crate::session::Session;

/// A lookup is given up when it has been on its way for so many deadlines.
const MOST_DEADLINES: u32 = 10;

/// A busy engine can wake its thread late, with the answer in the socket since long: it is read before the daemon is blamed.
const LAST_TURN: Duration = Duration::from_millis(2);

/// How long after attaching an engine without all its workers is waited for.
const INCOMPLETE_FOR: Duration = Duration::from_secs(5);

/// The daemon waits for blocks that are on their way; this is for one that does not.
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(1);

/// Asks until the answer holds, and files it whenever it comes.
///
/// Neither a deadline nor giving up cancels a call: only its answer says which lease has to be released.
pub(super) async fn ask(shared: Arc<Shared>, session: Arc<Session>, token: Token, request: LookupRequest) {
    loop {
        let answer = call(&shared, &session, token, request.clone()).await;
        let next = match answer {
            Ok(answer) => answered(&shared, &session, &request.request_id, token, answer.get_ref()),
            Err(status) => failed(&shared, &session, &request.request_id, token, &status),
        };
        shared.answered.notify_all();
        if next == Next::End {
            return;
        }
        sleep(ASK_AGAIN_AFTER).await;
    }
}

/// What follows an answer.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    AskAgain,
    End,
}

/// One call, late or not.
async fn call(
    shared: &Shared,
    session: &Arc<Session>,
    token: Token,
    request: LookupRequest,
) -> Result<Response<LookupResponse>, Status> {
    let asked = Instant::now();
    let request_id = request.request_id.clone();
    let mut rpc = session.rpc();
    let call = rpc.lookup(request);
    tokio::pin!(call);
    let mut known = timeout(shared.deadline, &mut call).await;
    if known.is_err() {
        shared.lock().counters.timeouts += 1;
        known = timeout(shared.deadline * (MOST_DEADLINES - 1), &mut call).await;
    }
    if known.is_err() {
        known = timeout(LAST_TURN, &mut call).await;
    }
    match known {
        Ok(answer) => answer,
        Err(_) => {
            give_up(shared, session, &request_id, token, asked);
            call.await
        }
    }
}

fn give_up(shared: &Shared, session: &Arc<Session>, request_id: &str, token: Token, asked: Instant) {
    let mut state = shared.lock();
    if !state.is_current(session) {
        return;
    }
    state.table.failed(request_id, token);
    state.counters.given_up += 1;
    if state.breaker.given_up(asked) {
        state.table.fail_in_flight();
        state.counters.breaker_opened += 1;
        state.untold_openings += 1;
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
    answer: &LookupResponse,
) -> Next {
    session.observe_boot(answer.boot_id);
    let mut state = shared.lock();
    if !state.is_current(session) {
        return Next::End;
    }
    state.breaker.answered();
    if answer.state() == Answer::Pending {
        if state.table.fetching(request_id, token) == Arrival::Matched {
            return Next::AskAgain;
        }
        shared.give_back_lookup(&mut state, token);
        return Next::End;
    }
    state.counters.answers += 1;
    let lookup = match answer.state() {
        Answer::EngineIncomplete if session.age() < INCOMPLETE_FOR => {
            state.table.incomplete(request_id, token);
            return Next::End;
        }
        Answer::EngineIncomplete => Lookup::NO_HITS,
        Answer::Ready | Answer::Pending | Answer::Unspecified => Lookup::of_answer(answer),
    };
    if state.table.answered(request_id, token, lookup) == Arrival::Unwanted {
        shared.discard(&mut state, &lookup);
    }
    Next::End
}

fn failed(shared: &Shared, session: &Arc<Session>, request_id: &str, token: Token, status: &Status) -> Next {
    session.observe_error(status);
    tracing::debug!(request_id, %status, "a lookup failed");
    let mut state = shared.lock();
    if state.is_current(session) {
        state.breaker.answered();
        state.table.failed(request_id, token);
    }
    Next::End
}
