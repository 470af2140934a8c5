//! How errors are answered.

use pegaflow_core::error::{Error, ErrorKind};
use tonic::{Code, Status};

/// What a call is answered with.
pub(super) type Answer<T> = Result<T, Refusal>;

/// An error that ends one call, and nothing else.
#[derive(Debug)]
pub(super) struct Refusal(Status);

impl Refusal {
    /// The daemon is ending.
    pub(super) fn draining() -> Self {
        Self(Status::unavailable(
            "the daemon is draining: attach again once it, or another one, answers",
        ))
    }

    /// Malformed or out of range.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self(Status::invalid_argument(message))
    }

    /// Above a limit.
    pub(super) fn limit(message: impl Into<String>) -> Self {
        Self(Status::resource_exhausted(message))
    }

    /// Not in this state, or not by this peer.
    pub(super) fn precondition(message: impl Into<String>) -> Self {
        Self(Status::failed_precondition(message))
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Config | ErrorKind::Invalid => Code::InvalidArgument,
            ErrorKind::Limit | ErrorKind::NoSpace => Code::ResourceExhausted,
            ErrorKind::NotFound | ErrorKind::PeerEnded => Code::NotFound,
            ErrorKind::Conflict => Code::FailedPrecondition,
            ErrorKind::Permission => Code::PermissionDenied,
            _ => Code::Internal,
        };
        Self(Status::new(code, error.message()))
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Self(status)
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        refusal.0
    }
}
