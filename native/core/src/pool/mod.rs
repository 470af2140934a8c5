//! The bytes of the memory tier: a mapped file, its slabs, and the slot table beside it.

mod page;

pub use page::PagePtr;

/// What the pool's file lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PoolKind {
    /// Huge pages.
    Hugetlbfs,
    /// Shared memory of the machine, as /dev/shm.
    Tmpfs,
    /// Anonymous memory of this process: nothing outlives it.
    Memfd,
}

impl PoolKind {
    /// The word for status and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Hugetlbfs => "hugetlbfs",
            Self::Tmpfs => "tmpfs",
            Self::Memfd => "memfd",
        }
    }
}
