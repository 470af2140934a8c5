//! Plain numbers for status and metrics.

use std::time::Duration;

/// The leases at one time; the counters count from the start on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeaseSnapshot {
    /// Leases held.
    pub leases: u64,
    /// Blocks that they name; a block of two leases counts twice.
    pub blocks: u64,
    /// Bytes of these blocks.
    pub bytes: u64,
    /// Age of the oldest lease.
    pub oldest: Option<Duration>,
    /// Leases given.
    pub granted: u64,
    /// Leases that ended because all ranks had loaded.
    pub loaded: u64,
    /// Leases that ended by release.
    pub released: u64,
    /// Leases that ended by expiry.
    pub expired: u64,
    /// Leases that ended with their owner.
    pub orphaned: u64,
}
