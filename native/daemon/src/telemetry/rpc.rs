//! Calls over the socket, by method and status.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use tonic::Code;

use super::Latency;

type Method = [(&'static str, &'static str); 1];
type MethodAndStatus = [(&'static str, &'static str); 2];

/// The methods that are counted by name; a path that names another one counts as "other".
const METHODS: [&str; 10] = [
    "Attach", "Register", "Lookup", "Release", "Renew", "Save", "Load", "Status", "Stop", "Operate",
];

/// Calls that were answered; clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct RpcMetrics {
    requests: Family<MethodAndStatus, Counter>,
    duration: Family<Method, Latency>,
}

impl RpcMetrics {
    /// Names these metrics.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("pegaflow_rpc");
        registry.register(
            "requests",
            "Calls over the socket that were answered",
            self.requests.clone(),
        );
        registry.register(
            "duration_seconds",
            "How long a call over the socket took",
            self.duration.clone(),
        );
    }

    /// Counts one call of the method that the HTTP/2 path names.
    pub(crate) fn observe(&self, path: &str, code: Code, took: Duration) {
        let name = path.rsplit('/').next().unwrap_or_default();
        let method = METHODS
            .into_iter()
            .find(|&method| method == name)
            .unwrap_or("other");
        self.requests
            .get_or_create(&[("method", method), ("status", status_name(code))])
            .inc();
        self.duration.get_or_create(&[("method", method)]).observe(took);
    }
}

fn status_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "ok",
        Code::Cancelled => "cancelled",
        Code::Unknown => "unknown",
        Code::InvalidArgument => "invalid_argument",
        Code::DeadlineExceeded => "deadline_exceeded",
        Code::NotFound => "not_found",
        Code::AlreadyExists => "already_exists",
        Code::PermissionDenied => "permission_denied",
        Code::ResourceExhausted => "resource_exhausted",
        Code::FailedPrecondition => "failed_precondition",
        Code::Aborted => "aborted",
        Code::OutOfRange => "out_of_range",
        Code::Unimplemented => "unimplemented",
        Code::Internal => "internal",
        Code::Unavailable => "unavailable",
        Code::DataLoss => "data_loss",
        Code::Unauthenticated => "unauthenticated",
    }
}
