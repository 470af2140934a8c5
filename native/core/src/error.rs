//! The one error type of the core: a comparable kind, a sentence, and what it was about.

use std::fmt;

/// What kind of thing went wrong; callers decide by this, never by the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A setting cannot be used as given.
    Config,
    /// An argument is malformed or out of range.
    Invalid,
    /// An argument is above a stated limit.
    Limit,
    /// The thing named does not exist, or no longer.
    NotFound,
    /// The thing named exists in another shape, or in another state.
    Conflict,
    /// The operating system does not allow it.
    Permission,
    /// No room could be made.
    NoSpace,
    /// The operating system failed to do it.
    Io,
    /// The other process has ended.
    PeerEnded,
    /// Stored bytes are not what was stored.
    Corrupt,
    /// Nothing in this process works with the GPU any more.
    GpuLost,
}

/// The result of what the core does.
pub type Result<T> = std::result::Result<T, Error>;

/// An error with one sentence for people: lower-case start, the value, what is allowed and what to do.
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of this kind with this sentence.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// An operating system's error: `what` says what was tried, as "open /dev/shm/x".
    pub fn io(what: impl fmt::Display, source: std::io::Error) -> Self {
        let kind = match source.kind() {
            std::io::ErrorKind::PermissionDenied => ErrorKind::Permission,
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::StorageFull => ErrorKind::NoSpace,
            _ => ErrorKind::Io,
        };
        Self {
            kind,
            message: format!("{what}: {source}"),
            source: Some(Box::new(source)),
        }
    }

    /// What kind of thing went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The sentence alone.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source
            .as_ref()
            .map(|source| &**source as &(dyn std::error::Error + 'static))
    }
}
