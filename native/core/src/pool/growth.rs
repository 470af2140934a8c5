//! Reserving the pool's memory, chunk by chunk, in the background.

use std::thread::{self, JoinHandle, Scope};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::geometry::PAGE_UNIT;
use super::machine::available_bytes;
use super::nodes::Nodes;
use super::{Pool, PoolKind};
use crate::error::{Error, ErrorKind, Result};
use crate::sync::{Arc, Ordering};

/// Small enough that the first pages are there at once.
const FIRST_CHUNK_BYTES: u64 = 64 << 20;
/// Large enough that threads and calls do not matter.
const CHUNK_BYTES: u64 = 256 << 20;
/// The kernel lets no thread of the process map or unmap memory meanwhile.
const POPULATE_BYTES: u64 = 2 << 20;

/// More than these do not touch memory faster.
const TOUCHING_THREADS_MAX: u64 = 16;

/// How far the pool is, and why it stopped early.
#[derive(Debug, Default)]
pub(super) struct Growth {
    /// What the pool should have; what it has once it is resized.
    pub(super) bytes: u64,
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

/// Has a first part of the memory when it returns, and starts the thread that goes on until the pool is whole, closed, or out of memory.
///
/// # Errors
/// `Config` when there is no memory even for the first chunk.
pub(super) fn start(pool: &Arc<Pool>) -> Result<JoinHandle<()>> {
    let taken_over = pool.growth.lock().ready_bytes;
    let first = if taken_over == 0 {
        let bytes = chunk_at(pool, 0, pool.bytes());
        let nodes = Nodes::of_machine();
        nodes.go_to(0);
        allocate_file(pool, 0, bytes).map(|()| {
            thread::scope(|scope| in_parts(scope, pool, 0, bytes, touch));
            publish(pool, bytes);
        })
    } else {
        publish(pool, taken_over);
        Ok(())
    };
    first.map_err(|errno| {
        let error = std::io::Error::from(errno);
        let total = pool.bytes();
        Error::new(
            ErrorKind::Config,
            format!(
                "no memory for a pool of {total} bytes ({error}): free memory or give a smaller --pool-size"
            ),
        )
    })?;
    let pool = Arc::clone(pool);
    thread::Builder::new()
        .name("pool-growth".into())
        .spawn(move || {
            thread::scope(|scope| in_parts(scope, &pool, 0, taken_over, populate));
            grow(&pool, pool.bytes(), allocate_file, |_| true);
        })
        .map_err(|error| Error::io("start the thread that reserves the pool", error))
}

/// Gives the pool memory by `allocate` (offset, bytes) until it has `total`, or `goes_on`, which hears how much is ready, says
/// no; one chunk is touched while the next is allocated.
pub(super) fn grow(
    pool: &Pool,
    total: u64,
    allocate: impl Fn(&Pool, u64, u64) -> rustix::io::Result<()>,
    mut goes_on: impl FnMut(u64) -> bool,
) {
    let mut ready = pool.growth.lock().ready_bytes;
    let mut allocated = ready;
    let nodes = Nodes::of_machine();
    while ready < total && goes_on(ready) && !pool.stops_growing.load(Ordering::Relaxed) {
        let chunk = chunk_at(pool, allocated, total);
        let next = thread::scope(|scope| {
            nodes.go_to(turn_at(ready));
            in_parts(scope, pool, ready, allocated - ready, touch);
            if chunk == 0 {
                return Ok(());
            }
            nodes.go_to(turn_at(allocated));
            allocate(pool, allocated, chunk)
        });
        ready = allocated;
        publish(pool, ready);
        if let Err(errno) = next {
            let error = std::io::Error::from(errno);
            let remedy = "free memory, then give it more with `pegaflow tier resize memory`";
            let problem = format!("the pool has {ready} of {total} bytes ({error}): {remedy}");
            pool.growth.lock().report(problem);
            break;
        }
        allocated += chunk;
    }
    pool.slabs.lock().end_growth();
    pool.growth.lock().has_ended = true;
}

/// The bytes of the chunk that begins at `offset`; 0 at the end, which is at `total`.
fn chunk_at(pool: &Pool, offset: u64, total: u64) -> u64 {
    let most = if offset == 0 {
        FIRST_CHUNK_BYTES
    } else {
        CHUNK_BYTES
    };
    let chunk = most.max(pool.geometry.slab_bytes).max(pool.huge_page_bytes);
    chunk.min(total - offset)
}

/// Which chunk begins at `offset`, counted from the first.
fn turn_at(offset: u64) -> u64 {
    offset.div_ceil(CHUNK_BYTES)
}

/// Lets pages be in the first `ready` bytes.
fn publish(pool: &Pool, ready: u64) {
    pool.slabs
        .lock()
        .set_ready((ready / pool.geometry.slab_bytes) as u32);
    let mut growth = pool.growth.lock();
    growth.ready_bytes = ready;
    growth.bytes = growth.bytes.max(ready);
}

/// Gives the pool's file memory, unless so little is left that the kernel would end processes to find it.
pub(super) fn allocate_file(pool: &Pool, offset: u64, bytes: u64) -> rustix::io::Result<()> {
    if pool.kind == PoolKind::Hugetlbfs {
        // The mapping has set the pages aside; the kernel clears them, which many threads do many times faster than one call.
        thread::scope(|scope| in_parts(scope, pool, offset, bytes, populate));
        if pool.region.populate(offset, bytes) {
            return Ok(());
        }
    } else if available_bytes().is_some_and(|available| available < 2 * bytes) {
        return Err(Errno::NOMEM);
    }
    loop {
        match fallocate(&*pool.files.pool, FallocateFlags::empty(), offset, bytes) {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// Has threads do `work` (offset, bytes) on parts of the pool until the scope ends.
///
/// One processor alone is far slower than the memory; where the kernel has small pages to find, half of them are as fast as all.
fn in_parts<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    pool: &'env Pool,
    offset: u64,
    bytes: u64,
    work: fn(&Pool, u64, u64),
) {
    let processors = thread::available_parallelism().map_or(1, |count| count.get() as u64);
    let threads = match pool.kind {
        PoolKind::Hugetlbfs => processors,
        PoolKind::Tmpfs | PoolKind::Memfd => processors / 2,
    };
    let threads = threads.clamp(1, TOUCHING_THREADS_MAX);
    let part = bytes
        .div_ceil(threads)
        .max(1)
        .next_multiple_of(PAGE_UNIT.max(pool.huge_page_bytes));
    for begin in (offset..offset + bytes).step_by(part as usize) {
        let length = part.min(offset + bytes - begin);
        let spawned = thread::Builder::new().spawn_scoped(scope, move || work(pool, begin, length));
        if spawned.is_err() {
            work(pool, begin, length);
        }
    }
}

/// Touches memory that the file has and nobody uses, so that no copy has to wait for the page tables.
fn touch(pool: &Pool, offset: u64, bytes: u64) {
    for page in (offset..offset + bytes).step_by(PAGE_UNIT.max(pool.huge_page_bytes) as usize) {
        if let Some([word]) = pool.region.words(page, 1) {
            word.store(0, Ordering::Relaxed);
        }
    }
}

/// The same for memory whose pages may be in use, or that the file is still to get.
pub(super) fn populate(pool: &Pool, offset: u64, bytes: u64) {
    let part = POPULATE_BYTES.max(pool.huge_page_bytes);
    for begin in (offset..offset + bytes).step_by(part as usize) {
        let length = part.min(offset + bytes - begin);
        if pool.stops_growing.load(Ordering::Relaxed) || !pool.region.populate(begin, length) {
            return;
        }
    }
}
