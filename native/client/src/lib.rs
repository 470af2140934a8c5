//! What engines and commands use to talk to the daemon.
//!
//! A [`SchedulerClient`] looks blocks up, a [`WorkerClient`] registers memory and starts transfers; both connect, and
//! connect again, by themselves, on one background thread each. [`status`] and [`stop`] are single calls, an
//! [`Operation`] is one call that takes a while.

mod background;
mod control;
mod error;
mod operation;
mod scheduler;
mod session;
mod worker;

pub use control::{Stopped, status, stop};
pub use error::{ClientError, ClientErrorKind, Result};
pub use operation::{Operation, OperationEvent};
pub use scheduler::{LeaseRef, Lookup, LookupState, SchedulerClient, SchedulerConfig};
pub use worker::{EngineLayout, TransferEnd, TransferKind, WorkerClient, WorkerConfig};
