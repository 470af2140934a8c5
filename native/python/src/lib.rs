//! `pegaflow._native`: translation between Python and the native crates, nothing else.
//!
//! `pegaflow/_native.pyi` describes what Python sees.

mod control;
mod enter;
mod error;
mod layout;
mod lookup;
mod operation;
mod scheduler;
mod serve;
mod simulate;
mod transfer_end;
mod worker;

use pyo3::prelude::*;

/// The native core of PegaFlow.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::control::{purge, status, stop};
    #[pymodule_export]
    use super::error::{CallTimeout, ConfigError, NativeError, Refused, Unreachable};
    #[pymodule_export]
    use super::layout::{EngineLayout, StreamPoint};
    #[pymodule_export]
    use super::lookup::Lookup;
    #[pymodule_export]
    use super::operation::Operation;
    #[pymodule_export]
    use super::scheduler::SchedulerClient;
    #[pymodule_export]
    use super::serve::{check, serve};
    #[pymodule_export]
    use super::simulate::RecordedRequests;
    #[pymodule_export]
    use super::transfer_end::TransferEnd;
    #[pymodule_export]
    use super::worker::WorkerClient;

    #[pymodule_export]
    const VERSION: &str = pegaflow_daemon::VERSION;
}
