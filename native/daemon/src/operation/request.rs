//! What can be asked for. Its schema is pegaflow/schemas/operation.schema.json.

use std::fmt::Display;
use std::time::Instant;

use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::progress::Progress;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::engine_evict::EngineEvict;
use super::namespace_evict::NamespaceEvict;
use super::namespace_pin::{NamespacePin, NamespaceUnpin};
use super::namespace_quota::NamespaceQuota;
use super::tier_drain::TierDrain;
use super::tier_evict::TierEvict;
use super::tier_flush::TierFlush;
use super::tier_paths::{TierAddPath, TierRemovePath};
use super::tier_resize::TierResize;
use super::tier_verify::TierVerify;
use super::trace_record::{TraceRecord, TraceStop};
use super::warm::Warm;
use super::{Operate, Operated};
use crate::daemon::Daemon;

/// The form of the result; an incompatible change has another number.
const SCHEMA: &str = "pegaflow.operated/1";
/// The field that names the operation.
const NAME: &str = "operation";

/// One operation, with all that it asks for.
#[derive(Debug, Deserialize)]
#[serde(tag = "operation", rename_all = "kebab-case")]
pub(crate) enum Operation {
    EngineEvict(EngineEvict),
    NamespaceEvict(NamespaceEvict),
    NamespacePin(NamespacePin),
    NamespaceQuota(NamespaceQuota),
    NamespaceUnpin(NamespaceUnpin),
    TierAddPath(TierAddPath),
    TierDrain(TierDrain),
    TierEvict(TierEvict),
    TierFlush(TierFlush),
    TierRemovePath(TierRemovePath),
    TierResize(TierResize),
    TierVerify(TierVerify),
    TraceRecord(TraceRecord),
    TraceStop(TraceStop),
    Warm(Warm),
}

/// The names of all operations.
const NAMES: [&str; 15] = [
    "engine-evict",
    "namespace-evict",
    "namespace-pin",
    "namespace-quota",
    "namespace-unpin",
    "tier-add-path",
    "tier-drain",
    "tier-evict",
    "tier-flush",
    "tier-remove-path",
    "tier-resize",
    "tier-verify",
    "trace-record",
    "trace-stop",
    "warm",
];

impl Operation {
    /// Reads JSON that names the operation in itself.
    ///
    /// # Errors
    /// `Invalid`, naming the field and what is allowed.
    pub(crate) fn from_json(json: &[u8]) -> Result<Self> {
        fields(json)?;
        serde_json::from_slice(json).map_err(unreadable)
    }

    /// Reads the fields of the operation `name`; no bytes are no fields. JSON that names an operation must name this one.
    ///
    /// # Errors
    /// As [`Operation::from_json`]; `NotFound` for a name that no operation has.
    pub(crate) fn of_name(name: &str, json: &[u8]) -> Result<Self> {
        if !NAMES.contains(&name) {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "there is no operation {name:?}; those that there are: {}",
                    NAMES.join(", ")
                ),
            ));
        }
        let json = match json.trim_ascii() {
            [] => b"{}",
            json => json,
        };
        match fields(json)?.get(NAME) {
            Some(Value::String(own)) if own != name => Err(Error::new(
                ErrorKind::Invalid,
                format!("the body names operation {own:?} and the path {name:?}: leave it out of the body"),
            )),
            Some(_) => Self::from_json(json),
            None => Self::from_json(&with_name(name, json)),
        }
    }

    /// The name that requests and results have.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::EngineEvict(_) => "engine-evict",
            Self::NamespaceEvict(_) => "namespace-evict",
            Self::NamespacePin(_) => "namespace-pin",
            Self::NamespaceQuota(_) => "namespace-quota",
            Self::NamespaceUnpin(_) => "namespace-unpin",
            Self::TierAddPath(_) => "tier-add-path",
            Self::TierDrain(_) => "tier-drain",
            Self::TierEvict(_) => "tier-evict",
            Self::TierFlush(_) => "tier-flush",
            Self::TierRemovePath(_) => "tier-remove-path",
            Self::TierResize(_) => "tier-resize",
            Self::TierVerify(_) => "tier-verify",
            Self::TraceRecord(_) => "trace-record",
            Self::TraceStop(_) => "trace-stop",
            Self::Warm(_) => "warm",
        }
    }

    /// Whether it changes what the daemon is, and not only what it holds.
    pub(super) fn is_configuration(&self) -> bool {
        matches!(
            self,
            Self::NamespacePin(_)
                | Self::NamespaceQuota(_)
                | Self::NamespaceUnpin(_)
                | Self::TierAddPath(_)
                | Self::TierRemovePath(_)
                | Self::TierResize(_)
                | Self::TraceRecord(_)
                | Self::TraceStop(_)
        )
    }

    /// Does it; the result as JSON.
    ///
    /// # Errors
    /// What makes it impossible, or stopped it.
    pub(super) fn run(&self, daemon: &Daemon, progress: &Progress) -> Result<String> {
        let began = Instant::now();
        let outcome = match self {
            Self::EngineEvict(operation) => outcome(operation, daemon, progress),
            Self::NamespaceEvict(operation) => outcome(operation, daemon, progress),
            Self::NamespacePin(operation) => outcome(operation, daemon, progress),
            Self::NamespaceQuota(operation) => outcome(operation, daemon, progress),
            Self::NamespaceUnpin(operation) => outcome(operation, daemon, progress),
            Self::TierAddPath(operation) => outcome(operation, daemon, progress),
            Self::TierDrain(operation) => outcome(operation, daemon, progress),
            Self::TierEvict(operation) => outcome(operation, daemon, progress),
            Self::TierFlush(operation) => outcome(operation, daemon, progress),
            Self::TierRemovePath(operation) => outcome(operation, daemon, progress),
            Self::TierResize(operation) => outcome(operation, daemon, progress),
            Self::TierVerify(operation) => outcome(operation, daemon, progress),
            Self::TraceRecord(operation) => outcome(operation, daemon, progress),
            Self::TraceStop(operation) => outcome(operation, daemon, progress),
            Self::Warm(operation) => outcome(operation, daemon, progress),
        }?;
        let operated = Operated {
            schema: SCHEMA,
            operation: self.name(),
            cancelled: progress.is_cancelled(),
            seconds: began.elapsed().as_secs_f64(),
            outcome,
        };
        serde_json::to_string(&operated).map_err(|error| unwritable(&error))
    }
}

fn outcome(operation: &impl Operate, daemon: &Daemon, progress: &Progress) -> Result<Value> {
    let outcome = operation.operate(daemon, progress)?;
    serde_json::to_value(outcome).map_err(|error| unwritable(&error))
}

/// What an object without a name is, with one. It is put at the end: places in the JSON, which errors tell, stay what they are.
fn with_name(name: &str, object: &[u8]) -> Vec<u8> {
    let Some(fields) = object.strip_suffix(b"}") else {
        return object.to_vec();
    };
    let comma = if fields.trim_ascii() == b"{" { "" } else { "," };
    let named = format!("{comma}\"{NAME}\":{}}}", Value::from(name));
    [fields, named.as_bytes()].concat()
}

/// The fields of an operation, whatever they are.
fn fields(json: &[u8]) -> Result<Map<String, Value>> {
    match serde_json::from_slice(json) {
        Ok(Value::Object(fields)) => Ok(fields),
        Ok(_) => Err(unreadable(
            "it is no object of fields: send them as {\"NAME\": VALUE}",
        )),
        Err(error) => Err(unreadable(format_args!(
            "it is no JSON at line {} column {}",
            error.line(),
            error.column()
        ))),
    }
}

fn unreadable(why: impl Display) -> Error {
    Error::new(ErrorKind::Invalid, format!("the operation cannot be read: {why}"))
}

fn unwritable(error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the result cannot be written: {error}"))
}

#[cfg(test)]
mod tests;
