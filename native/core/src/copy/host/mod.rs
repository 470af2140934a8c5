//! Host memory of another process, by process_vm_readv and process_vm_writev.

mod plan;
mod vectored;

use std::sync::Arc;

use self::plan::{Direction, Plan};
use super::threads::{CopyThreads, Parts};
use super::{CopyEngine, LoadPage, SavePage};
use crate::error::Result;
use crate::layout::BlockLayout;
use crate::pool::PagePtr;
use crate::process::PeerProcess;

/// Copies between the memory of one process and pages.
#[derive(Debug)]
pub struct HostCopyEngine {
    process: Arc<PeerProcess>,
    layout: BlockLayout,
    threads: Arc<CopyThreads>,
}

impl HostCopyEngine {
    /// Reaches the blocks that `layout` describes in `process`.
    pub fn new(process: Arc<PeerProcess>, layout: BlockLayout, threads: Arc<CopyThreads>) -> Self {
        Self {
            process,
            layout,
            threads,
        }
    }

    fn copy(&self, direction: Direction, pages: impl Iterator<Item = (u32, PagePtr)>) -> Result<()> {
        let mut plan = Plan::new(direction, Arc::clone(&self.process));
        for (block, page) in pages {
            self.layout.check_page(block, page)?;
            for run in self.layout.copy_runs(block)? {
                plan.push(page, run);
            }
        }
        self.process.check_alive()?;
        self.threads.run(Box::new(plan) as Box<dyn Parts>, usize::MAX)?;
        // A process that ended during the copy may have given its pid to another one.
        self.process.check_alive()
    }
}

impl CopyEngine for HostCopyEngine {
    fn layout(&self) -> &BlockLayout {
        &self.layout
    }

    fn read(&self, pages: &[SavePage<'_>]) -> Result<()> {
        self.copy(
            Direction::Read,
            pages.iter().map(|page| (page.block(), page.page())),
        )
    }

    fn write(&self, pages: &[LoadPage<'_>]) -> Result<()> {
        self.copy(
            Direction::Write,
            pages.iter().map(|page| (page.block(), page.page())),
        )
    }
}
