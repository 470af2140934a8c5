//! How much memory there is, and how much of it this process may have.

use std::fs;
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};

/// Refuses a pool that is larger than the machine's memory or the control group's limit.
pub(super) fn check_pool_fits(pool_bytes: u64) -> Result<()> {
    let remedy = "give a smaller --pool-size";
    check(
        pool_bytes,
        "the machine's memory",
        meminfo_bytes("MemTotal:"),
        remedy,
    )?;
    check(
        pool_bytes,
        "the control group's memory limit",
        control_group_limit(),
        remedy,
    )
}

/// What a pool can have at most: the machine's memory, or the control group's limit if that is less.
pub(super) fn memory_bytes() -> Option<u64> {
    [meminfo_bytes("MemTotal:"), control_group_limit()]
        .into_iter()
        .flatten()
        .min()
}

/// Refuses a pool that other processes leave no memory for: filling it would end some of them.
///
/// Huge pages are set aside already and do not count.
pub(super) fn check_pool_is_available(pool_bytes: u64) -> Result<()> {
    check(
        pool_bytes,
        "the memory that is available now,",
        available_bytes(),
        "free memory, or make the pool smaller",
    )
}

/// Bytes that can be had without pushing anything out.
pub(super) fn available_bytes() -> Option<u64> {
    meminfo_bytes("MemAvailable:")
}

/// Bytes of free huge pages of this size that nobody has reserved.
pub(super) fn free_huge_page_bytes(huge_page_bytes: u64) -> Option<u64> {
    let dir = format!("/sys/kernel/mm/hugepages/hugepages-{}kB", huge_page_bytes / 1024);
    let pages = |name| number_in(&Path::new(&dir).join(name));
    let free = pages("free_hugepages")?.saturating_sub(pages("resv_hugepages")?);
    free.checked_mul(huge_page_bytes)
}

fn check(pool_bytes: u64, what: &str, limit: Option<u64>, remedy: &str) -> Result<()> {
    match limit {
        Some(limit) if pool_bytes > limit => Err(Error::new(
            ErrorKind::Config,
            format!("a pool of {pool_bytes} bytes is larger than {what} of {limit} bytes: {remedy}"),
        )),
        _ => Ok(()),
    }
}

fn meminfo_bytes(name: &str) -> Option<u64> {
    field_bytes(&fs::read_to_string("/proc/meminfo").ok()?, name)
}

/// The value of one line of /proc/meminfo, which counts in KiB.
pub(super) fn field_bytes(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.split_ascii_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024)
}

/// The limit of the own control group as a container sees it: at the root of the hierarchy.
fn control_group_limit() -> Option<u64> {
    let places = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    places.iter().find_map(|path| number_in(Path::new(path)))
}

fn number_in(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}
