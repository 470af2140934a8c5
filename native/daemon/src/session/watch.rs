//! Watches one session until it ends, and tells its peer when the daemon drains.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use pegaflow_core::process::PeerProcess;
use pegaflow_proto::v1::{Draining, SessionEvent, SessionOpened, session_event::Event};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::Status;

use super::{EndReason, Session};
use crate::daemon::Daemon;
use crate::lifecycle::Phase;

/// What a peer receives while its session lasts.
pub(crate) type EventStream = ReceiverStream<Result<SessionEvent, Status>>;

/// Starts to watch the session; its stream begins with `opened`.
///
/// # Errors
/// When the runtime cannot watch the peer's process.
pub(crate) fn watch(
    daemon: &Arc<Daemon>,
    session: &Arc<Session>,
    opened: SessionOpened,
) -> io::Result<EventStream> {
    let end_of_process = end_of(&session.peer.process)?;
    // Room for both events that there are: a peer that does not read never holds the daemon up.
    let (events, stream) = mpsc::channel(2);
    drop(events.try_send(Ok(SessionEvent {
        event: Some(Event::Opened(opened)),
    })));
    let (daemon, session) = (Arc::clone(daemon), Arc::clone(session));
    tokio::spawn(async move {
        let mut is_announced = false;
        let reason = loop {
            tokio::select! {
                biased;
                () = daemon.lifecycle.draining(), if !is_announced => {
                    announce_draining(&events);
                    is_announced = true;
                }
                () = daemon.lifecycle.wait_ended(), if is_announced => break EndReason::DaemonEnded,
                () = session.wait_ended() => {
                    // A drain with nothing under way can end the session before this task hears of it.
                    if !is_announced && daemon.lifecycle.phase() != Phase::Serving {
                        announce_draining(&events);
                    }
                    return;
                }
                _ = end_of_process.readable() => break EndReason::ProcessEnded,
                () = events.closed() => break EndReason::StreamClosed,
            }
        };
        daemon.sessions.end(session.id, reason);
    });
    Ok(ReceiverStream::new(stream))
}

/// Tells the peer that the daemon drains.
fn announce_draining(events: &mpsc::Sender<Result<SessionEvent, Status>>) {
    drop(events.try_send(Ok(SessionEvent {
        event: Some(Event::Draining(Draining {})),
    })));
}

/// Becomes readable when the process has ended.
fn end_of(process: &PeerProcess) -> io::Result<AsyncFd<OwnedFd>> {
    let pidfd = process.as_fd().try_clone_to_owned()?;
    #[expect(
        unsafe_code,
        reason = "tokio takes a promise about the descriptor that it watches"
    )]
    // SAFETY: an `OwnedFd` is open, and stays the same descriptor while the `AsyncFd` owns it.
    let watched = unsafe { AsyncFd::register_with_interest(pidfd, Interest::READABLE) };
    Ok(watched?)
}
