//! Threads that compare what was read with its checksum, so that the disks go on meanwhile.

use std::io;
use std::time::Instant;

use super::index::check_of;
use super::read::Read;
use super::workers::Workers;
use crate::error::{Error, ErrorKind, Result};

/// One thread checks faster than two disks read.
const THREADS: usize = 2;

/// Threads that each compare one read at a time, and tell its end.
pub(super) type Checkers = Workers<(Read, io::Result<()>)>;

impl Checkers {
    pub(super) fn start_checking() -> Result<Self> {
        Self::start("ssd-check", THREADS, |(read, result)| {
            let checked = check(&read, result);
            let Read { extent, done, .. } = read;
            drop(extent);
            done(checked);
        })
    }
}

/// The checksums of the pages if they are those of the block, which leaves the tier otherwise.
fn check(read: &Read, result: io::Result<()>) -> Result<Vec<u128>> {
    let extent = &read.extent;
    let path = extent.pin.path();
    if let Err(error) = result {
        path.tier.remove(extent.handle);
        let message = format!("read a block from {}", path.dir.display());
        path.count_read_error(&error);
        return Err(Error::io(message, error));
    }
    path.count_read();
    let start = Instant::now();
    let checksums = extent.space.checksums(&extent.entry.hash, &read.pages);
    let counts = &path.counts;
    counts.verify_ns.add(start.elapsed().as_nanos() as u64);
    counts.read_bytes.add(extent.space.padded_bytes);
    counts.read_blocks.add(1);
    if check_of(&checksums) == extent.entry.check {
        return Ok(checksums);
    }
    if path.tier.remove(extent.handle) {
        counts.corrupt_blocks.add(1);
        tracing::error!(
            dir = %path.dir.display(),
            space = %extent.space.key,
            "a block on ssd is not what was saved, so it is dropped: check that disk"
        );
    }
    Err(Error::new(
        ErrorKind::Corrupt,
        "a block on ssd is not what was saved, so it was dropped: compute it anew",
    ))
}
