//! A transfer's batches, several at a time where that is faster.

use std::sync::Arc;

use pegaflow_core::copy::{CopyThreads, Parts};
use pegaflow_core::error::Result;

/// Threads beside those that transfers run on: three for each direction.
const HELPERS: usize = 6;

/// Threads that help transfers with their batches: **the copies of one batch run while the next one is prepared**.
#[derive(Debug, Clone)]
pub(crate) struct Lanes(Arc<CopyThreads>);

/// A transfer in batches, each of which any thread may do, in any order.
pub(super) trait Batches: Send + Sync + 'static {
    /// How many batches there are.
    fn count(&self) -> usize;
    /// Does one; called at most once for each, and not after an error.
    fn run(&self, batch: usize) -> Result<()>;
}

impl Lanes {
    /// Starts the threads.
    ///
    /// # Errors
    /// `Io` when the system has no more threads.
    pub(crate) fn start() -> Result<Self> {
        CopyThreads::start(1 + HELPERS).map(Self)
    }

    /// Does all batches, at most `lanes` at once; returns when no thread is at any of them any more.
    pub(super) fn run(&self, batches: &Arc<impl Batches>, lanes: usize) -> Result<()> {
        self.0.run(Box::new(Shared(Arc::clone(batches))), lanes)
    }
}

struct Shared<B>(Arc<B>);

impl<B: Batches> Parts for Shared<B> {
    fn count(&self) -> usize {
        self.0.count()
    }

    fn run(&self, part: usize) -> Result<()> {
        self.0.run(part)
    }
}
