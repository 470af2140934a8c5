//! The descriptors that the daemon may have, and who gets how many.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Connections over the socket: more than sessions can be.
const SOCKET_MAX: usize = 4_096;
/// Connections of HTTP: far more than operators and scrapers need.
const HTTP_MAX: usize = 256;

/// How many connections there may be at once. The rest is for files, and for what each session needs beside its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionShares {
    pub(crate) socket: usize,
    pub(crate) http: usize,
}

impl ConnectionShares {
    /// The shares of so many descriptors.
    fn of(descriptors: u64) -> Self {
        let descriptors = usize::try_from(descriptors).unwrap_or(usize::MAX);
        Self {
            socket: (descriptors / 3).clamp(1, SOCKET_MAX),
            http: (descriptors / 8).clamp(1, HTTP_MAX),
        }
    }
}

/// Raises the limit of open files as far as it goes, since the usual 1,024 are few, and shares it out.
pub(crate) fn raise() -> ConnectionShares {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!("cannot raise the limit of open files: {error}");
    }
    ConnectionShares::of(getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
