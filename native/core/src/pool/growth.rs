//! Reserving the pool's memory, chunk by chunk, in the background.

use std::thread::{self, JoinHandle};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::Pool;
use super::geometry::PAGE_UNIT;
use crate::error::{Error, Result};
use crate::sync::{Arc, Ordering};

/// Small enough that the first pages are there at once, large enough that calls do not matter.
const CHUNK_BYTES: u64 = 64 << 20;

/// How far the pool is, and why it stopped early.
#[derive(Debug, Default)]
pub(super) struct Growth {
    pub(super) ready_bytes: u64,
    pub(super) has_ended: bool,
    pub(super) problem: Option<String>,
}

impl Growth {
    /// Keeps and logs the first problem.
    pub(super) fn report(&mut self, problem: String) {
        if self.problem.is_none() {
            tracing::warn!("{problem}");
            self.problem = Some(problem);
        }
    }
}

/// Starts the thread that grows `pool` until it is whole, closed, or out of memory.
pub(super) fn start(pool: &Arc<Pool>) -> Result<JoinHandle<()>> {
    let pool = Arc::clone(pool);
    thread::Builder::new()
        .name("pool-growth".into())
        .spawn(move || grow(&pool, |offset, bytes| allocate_file(&pool, offset, bytes)))
        .map_err(|error| Error::io("start the thread that reserves the pool", error))
}

/// Gives the pool memory by `allocate` (offset, bytes).
pub(super) fn grow(pool: &Pool, allocate: impl Fn(u64, u64) -> rustix::io::Result<()>) {
    let total = pool.geometry.pool_bytes;
    let chunk_bytes = CHUNK_BYTES
        .max(pool.geometry.slab_bytes)
        .max(pool.huge_page_bytes);
    let mut ready = 0;
    while ready < total && !pool.is_closing.load(Ordering::Relaxed) {
        let chunk = chunk_bytes.min(total - ready);
        if let Err(errno) = allocate(ready, chunk) {
            let error = std::io::Error::from(errno);
            let remedy = "free memory and restart, or give a smaller --pool-size";
            pool.growth.lock().report(format!(
                "the pool has {ready} of {total} bytes ({error}): {remedy}"
            ));
            break;
        }
        touch(pool, ready, chunk);
        ready += chunk;
        pool.slabs
            .lock()
            .set_ready((ready / pool.geometry.slab_bytes) as u32);
        pool.growth.lock().ready_bytes = ready;
    }
    pool.slabs.lock().end_growth();
    pool.growth.lock().has_ended = true;
}

pub(super) fn allocate_file(pool: &Pool, offset: u64, bytes: u64) -> rustix::io::Result<()> {
    loop {
        match fallocate(&*pool.files.pool, FallocateFlags::empty(), offset, bytes) {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// Touches memory that the file has, so that no copy has to wait for the page tables.
fn touch(pool: &Pool, offset: u64, bytes: u64) {
    for page in (offset..offset + bytes).step_by(PAGE_UNIT.max(pool.huge_page_bytes) as usize) {
        if let Some([word]) = pool.region.words(page, 1) {
            word.store(0, Ordering::Relaxed);
        }
    }
}
