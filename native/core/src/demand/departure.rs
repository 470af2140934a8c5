//! Why blocks leave the memory tier.

/// Why a block left the memory tier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Departure {
    /// Another block needed its room.
    Room,
    /// Its part of the pool went to pages of another size.
    PageSize,
    /// The pool became smaller.
    Resize,
    /// Its namespace had more than it may.
    Quota,
    /// An operator asked for it.
    Request,
    /// It was not what was saved.
    Corrupt,
}

impl Departure {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Room,
        Self::PageSize,
        Self::Resize,
        Self::Quota,
        Self::Request,
        Self::Corrupt,
    ];

    /// Those that are evictions.
    pub const EVICTIONS: [Self; 5] = [
        Self::Room,
        Self::PageSize,
        Self::Resize,
        Self::Quota,
        Self::Request,
    ];

    /// The word for metrics and status.
    pub fn name(self) -> &'static str {
        match self {
            Self::Room => "room",
            Self::PageSize => "page_size",
            Self::Resize => "resize",
            Self::Quota => "quota",
            Self::Request => "request",
            Self::Corrupt => "corrupt",
        }
    }

    /// Whether it would have stayed in a larger pool.
    pub fn is_for_room(self) -> bool {
        matches!(self, Self::Room | Self::PageSize | Self::Resize)
    }
}
