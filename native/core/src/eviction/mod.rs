//! Which block goes when room is needed.

/// The policies that a store can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PolicyKind {
    /// The least recently used block goes first.
    #[default]
    Lru,
    /// Small and main queue with a memory of what went (S3-FIFO).
    S3Fifo,
}

impl PolicyKind {
    /// The word for settings, status and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lru => "lru",
            Self::S3Fifo => "s3fifo",
        }
    }
}
