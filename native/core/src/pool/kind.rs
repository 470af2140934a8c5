//! What a pool's file lies on.

/// What the pool's file lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PoolKind {
    /// Huge pages.
    Hugetlbfs,
    /// Shared memory of the machine, as /dev/shm.
    Tmpfs,
    /// Anonymous memory of this process: nothing outlives it.
    #[default]
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
