//! The operations that run, in the status document.

use serde::Serialize;

use crate::operation::Operations;

#[derive(Debug, Serialize)]
pub(super) struct Operation {
    operation: &'static str,
    elapsed_s: f64,
    blocks: u64,
    bytes: u64,
    blocks_expected: u64,
    bytes_expected: u64,
}

impl Operation {
    /// All that run, the first begun first.
    pub(super) fn all(operations: &Operations) -> Vec<Self> {
        let running = operations.snapshot().into_iter().map(|one| Self {
            operation: one.name,
            elapsed_s: one.age.as_secs_f64(),
            blocks: one.progress.blocks,
            bytes: one.progress.bytes,
            blocks_expected: one.progress.blocks_expected,
            bytes_expected: one.progress.bytes_expected,
        });
        running.collect()
    }
}
