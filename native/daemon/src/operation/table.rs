//! The operations that run now.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pegaflow_core::error::{Error, ErrorKind, Result};
use pegaflow_core::progress::{Progress, ProgressSnapshot};

use crate::telemetry::OperationMetrics;

/// Operations that run at once; more are refused.
pub(super) const RUNNING_MAX: usize = 16;

/// The operations of a daemon that run now, the first begun first.
#[derive(Debug)]
pub(crate) struct Operations {
    running: Mutex<BTreeMap<u64, Begun>>,
    metrics: OperationMetrics,
}

#[derive(Debug)]
struct Begun {
    name: &'static str,
    began: Instant,
    progress: Arc<Progress>,
}

/// One operation at one time.
#[derive(Debug)]
pub(crate) struct OperationSnapshot {
    pub(crate) name: &'static str,
    pub(crate) age: Duration,
    pub(crate) progress: ProgressSnapshot,
}

impl Operations {
    /// None runs; those that end, or are refused, are counted by `metrics`.
    pub(crate) fn new(metrics: OperationMetrics) -> Self {
        Self {
            running: Mutex::default(),
            metrics,
        }
    }

    /// How many run.
    pub(crate) fn count(&self) -> usize {
        self.running.lock().len()
    }

    /// Those that run, the first begun first.
    pub(crate) fn snapshot(&self) -> Vec<OperationSnapshot> {
        let running = self.running.lock();
        let snapshot = |begun: &Begun| OperationSnapshot {
            name: begun.name,
            age: begun.began.elapsed(),
            progress: begun.progress.snapshot(),
        };
        running.values().map(snapshot).collect()
    }

    /// One more runs.
    ///
    /// # Errors
    /// `Limit` when too many do.
    pub(super) fn begin(self: &Arc<Self>, name: &'static str, progress: &Arc<Progress>) -> Result<Place> {
        let mut running = self.running.lock();
        if running.len() >= RUNNING_MAX {
            self.metrics.count(name, "refused");
            return Err(Error::new(
                ErrorKind::Limit,
                format!("{RUNNING_MAX} operations run already: wait for the end of one"),
            ));
        }
        let number = running.last_key_value().map_or(0, |(last, _)| last + 1);
        let begun = Begun {
            name,
            began: Instant::now(),
            progress: Arc::clone(progress),
        };
        running.insert(number, begun);
        Ok(Place {
            operations: Arc::clone(self),
            number,
            result: "failed",
        })
    }
}

/// The place of one that runs: dropped at its end, also by a panic.
#[derive(Debug)]
pub(super) struct Place {
    operations: Arc<Operations>,
    number: u64,
    result: &'static str,
}

impl Place {
    /// It has ended by itself, with a result of this kind.
    pub(super) fn end(mut self, result: &'static str) {
        self.result = result;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let ended = self.operations.running.lock().remove(&self.number);
        if let Some(ended) = ended {
            self.operations.metrics.count(ended.name, self.result);
        }
    }
}

#[cfg(test)]
mod tests;
