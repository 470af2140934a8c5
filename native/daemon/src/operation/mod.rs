//! Operations on tiers and namespaces: what the socket's `Control.Operate` and HTTP's `POST /v1/operations/` have in common.

mod amount;
mod engine_evict;
mod namespace;
mod namespace_evict;
mod namespace_pin;
mod namespace_quota;
mod path;
mod request;
mod running;
mod table;
mod tier;
mod tier_drain;
mod tier_evict;
mod tier_flush;
mod tier_paths;
mod tier_resize;
mod tier_verify;
mod trace_record;
mod warm;

pub(crate) use namespace::name_of;
pub(crate) use request::Operation;
pub(crate) use running::Running;
pub(crate) use table::Operations;

use pegaflow_core::error::Result;
use pegaflow_core::progress::Progress;
use serde::Serialize;
use serde_json::Value;

use crate::daemon::Daemon;

/// Something that is done on request, and takes a while.
trait Operate {
    /// What is told about its end, beside what is told about each.
    type Outcome: Serialize;

    /// Does it, on a thread of its own; ends early, with what is done until then, when `progress` is cancelled.
    ///
    /// # Errors
    /// What makes it impossible, or stopped it.
    fn operate(&self, daemon: &Daemon, progress: &Progress) -> Result<Self::Outcome>;
}

/// What is told about the end of each operation.
#[derive(Debug, Serialize)]
struct Operated {
    schema: &'static str,
    operation: &'static str,
    /// Whether it ended early because that was asked for.
    cancelled: bool,
    seconds: f64,
    #[serde(flatten)]
    outcome: Value,
}
