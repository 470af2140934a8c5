//! Follows one transfer to its end.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::sleep;
use tonic::Status;

use super::state::Shared;
use super::transfer::Outcome;
use crate::session::overdue;

/// How often a word that the daemon has taken is read while its end is waited for.
const TAKEN_POLL: Duration = Duration::from_millis(1);

/// Ends the transfer when the daemon answers; or, after a deadline, a revoke or the loss of the connection, when
/// the grant is free or the daemon's process has ended.
///
/// Neither of those cancels the call: the daemon would take many cancelled calls for an attack.
pub(super) async fn follow(
    shared: Arc<Shared>,
    id: u64,
    revoked: Arc<Notify>,
    call: impl Future<Output = Result<Outcome, Status>>,
) {
    tokio::pin!(call);
    let reason = tokio::select! {
        biased;
        answer = &mut call => match answer {
            Ok(outcome) => return shared.lock().transfers.answered(id, outcome),
            Err(status) => return until_free(&shared, id, &status.into()).await,
        },
        () = revoked.notified() => Outcome::failed("the engine revoked it"),
        () = sleep(shared.deadline) => Outcome::failed(overdue("the transfer", shared.deadline).message()),
    };
    tokio::select! {
        biased;
        answer = &mut call => match answer {
            Ok(outcome) => return shared.lock().transfers.answered(id, outcome),
            Err(_) => return until_free(&shared, id, &reason).await,
        },
        () = until_free(&shared, id, &reason) => {}
    }
    // Answered to nobody: the transfer has ended.
    drop(call.await);
}

async fn until_free(shared: &Shared, id: u64, outcome: &Outcome) {
    while !shared.lock().transfers.revoke(id, outcome) {
        sleep(TAKEN_POLL).await;
    }
}
