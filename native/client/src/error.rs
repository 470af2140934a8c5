//! The one error type of the client.

use std::fmt;

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ClientErrorKind {
    /// An argument or setting cannot be used as given.
    Config,
    /// No daemon answers on the socket.
    Unreachable,
    /// The daemon did not answer within the deadline.
    Timeout,
    /// The daemon answered that what it was asked for is malformed or out of range.
    Invalid,
    /// The daemon answered with another error, or its socket is not this user's to use.
    Refused,
    /// The client was made in another process, before a fork.
    Forked,
}

/// The result of what a client does.
pub type Result<T> = std::result::Result<T, ClientError>;

/// An error with one sentence for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientError {
    kind: ClientErrorKind,
    message: String,
}

impl ClientError {
    pub(crate) fn new(kind: ClientErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> ClientErrorKind {
        self.kind
    }

    /// The sentence alone.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ClientError {}
