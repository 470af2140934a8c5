//! Attaches, and attaches again, for as long as the client lives.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pegaflow_proto::v1::AttachRequest;

use super::Session;
use super::backoff::Backoff;
use crate::error::{ClientError, ClientErrorKind, Result};

/// What the scheduler side and a worker do differently with a session.
pub(crate) trait Role {
    /// What it says when it attaches; waits until it is known.
    fn attach_request(&self) -> impl Future<Output = AttachRequest>;
    /// A session has opened: makes it usable.
    fn opened(&self, session: &Arc<Session>) -> impl Future<Output = Result<()>>;
    /// Runs beside the open session; returns only to end it.
    fn serve(&self, session: &Arc<Session>) -> impl Future<Output = ()>;
    /// The session is no more.
    fn closed(&self);
    /// An attempt failed.
    fn failed(&self, error: &ClientError);
}

/// Never returns.
pub(crate) async fn keep_attached(role: &impl Role, socket: &Path) {
    let mut backoff = Backoff::new();
    loop {
        let delay = match attach_once(role, socket).await {
            Ok(age) => backoff.after_session(age),
            Err(error) => {
                role.failed(&error);
                if error.kind() == ClientErrorKind::Refused {
                    backoff.refused()
                } else {
                    backoff.unreachable()
                }
            }
        };
        tokio::time::sleep(delay).await;
    }
}

/// One session from its begin to its end, and how long it lasted; an error when it never became usable.
async fn attach_once(role: &impl Role, socket: &Path) -> Result<Duration> {
    let (session, events) = Session::open(socket, role.attach_request().await).await?;
    let ended = session.until_ended(events);
    tokio::pin!(ended);
    let lost = || {
        ClientError::new(
            ClientErrorKind::Unreachable,
            "the daemon ended while this client attached",
        )
    };
    let outcome = tokio::select! {
        () = &mut ended => Err(lost()),
        opened = role.opened(&session) => opened,
    };
    if outcome.is_ok() {
        tokio::select! {
            () = ended => {}
            () = role.serve(&session) => {}
        }
        role.closed();
    }
    session.end();
    outcome.map(|()| session.age())
}
