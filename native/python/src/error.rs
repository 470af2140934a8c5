//! Python's exceptions, and which of them an error is.

use pegaflow_client::{ClientError, ClientErrorKind};
use pegaflow_core::error::{Error, ErrorKind};
use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::PyException;

create_exception!(
    pegaflow._native,
    NativeError,
    PyException,
    "Base of what the native core raises."
);
create_exception!(
    pegaflow._native,
    ConfigError,
    NativeError,
    "A setting cannot be used."
);
create_exception!(
    pegaflow._native,
    Unreachable,
    NativeError,
    "No daemon answers on the socket."
);
create_exception!(
    pegaflow._native,
    CallTimeout,
    NativeError,
    "The daemon did not answer within the deadline."
);
create_exception!(
    pegaflow._native,
    Refused,
    NativeError,
    "The daemon answered with an error."
);

/// An error of a native crate on its way to Python.
pub(crate) struct Failure(PyErr);

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let message = error.message().to_owned();
        Self(match error.kind() {
            ErrorKind::Config => ConfigError::new_err(message),
            _ => NativeError::new_err(message),
        })
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let message = error.message().to_owned();
        Self(match error.kind() {
            ClientErrorKind::Config | ClientErrorKind::Invalid => ConfigError::new_err(message),
            ClientErrorKind::Unreachable => Unreachable::new_err(message),
            ClientErrorKind::Timeout => CallTimeout::new_err(message),
            ClientErrorKind::Refused => Refused::new_err(message),
            _ => NativeError::new_err(message),
        })
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}
