//! How much memory this process may have.

use std::fs;

use crate::error::{Error, ErrorKind, Result};

/// Refuses a pool that is larger than the machine's memory or the control group's limit.
pub(super) fn check_pool_fits(pool_bytes: u64) -> Result<()> {
    let limits = [
        (
            "the machine's memory",
            fs::read_to_string("/proc/meminfo")
                .ok()
                .as_deref()
                .and_then(total_bytes),
        ),
        ("the control group's memory limit", control_group_limit()),
    ];
    for (what, limit) in limits {
        if let Some(limit) = limit
            && pool_bytes > limit
        {
            return Err(Error::new(
                ErrorKind::Config,
                format!(
                    "a pool of {pool_bytes} bytes is larger than {what} of {limit} bytes: give a smaller --pool-size"
                ),
            ));
        }
    }
    Ok(())
}

pub(super) fn total_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kib: u64 = line.split_ascii_whitespace().nth(1)?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The limit of the own control group as a container sees it: at the root of the hierarchy.
fn control_group_limit() -> Option<u64> {
    [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ]
    .iter()
    .find_map(|path| fs::read_to_string(path).ok()?.trim().parse().ok())
}
