//! On which NUMA nodes the pool's memory is.

use std::ffi::{c_int, c_void};
use std::path::Path;
use std::ptr;

use super::nodes::list_in;
use super::{PagePtr, Pool};

/// The nodes that have memory or processors now, such as `0-1,3`.
const ONLINE: &str = "/sys/devices/system/node/online";
/// Pages that are asked about: enough to be a percent or two wrong at most, and a millisecond's work.
const SAMPLES: u64 = 2_048;
/// What the kernel tells the place of, at least.
const UNIT: u64 = 4_096;

/// Bytes of the pool on one NUMA node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeBytes {
    /// The node's number.
    pub node: u32,
    /// Bytes there, told from a sample where there are several nodes.
    pub bytes: u64,
}

impl Pool {
    /// The pool's bytes on each node of the machine; empty where the kernel does not tell.
    ///
    /// On several nodes they may add up to less than is ready: memory that this process has not mapped yet is on none.
    pub(crate) fn nodes(&self) -> Vec<NodeBytes> {
        let ready = self.growth.lock().ready_bytes;
        let online = list_in(Path::new(ONLINE)).into_iter();
        let online: Vec<u32> = online.filter_map(|node| u32::try_from(node).ok()).collect();
        match *online {
            [] => Vec::new(),
            [node] => vec![NodeBytes { node, bytes: ready }],
            ref nodes => {
                let pages = sampled(ready).filter_map(|offset| self.region.page(offset, 1));
                by_node(nodes, &places(&pages.collect::<Vec<_>>()), ready)
            }
        }
    }
}

/// Offsets of pages all over the first bytes, at no regular distance: memory may be spread over nodes regularly.
pub(super) fn sampled(bytes: u64) -> impl Iterator<Item = u64> {
    let units = bytes / UNIT;
    let count = units.min(SAMPLES);
    (0..count).map(move |index| {
        let (first, next) = (units * index / count, units * (index + 1) / count);
        let shift = index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        (first + shift % (next - first)) * UNIT
    })
}

/// The node of each page; negative where it has none, and empty where the kernel does not answer.
pub(super) fn places(pages: &[PagePtr]) -> Vec<c_int> {
    let addresses: Vec<*const c_void> = pages
        .iter()
        .map(|page| page.as_ptr().cast_const().cast())
        .collect();
    let mut places = vec![-1; addresses.len()];
    let (this_process, no_target, no_flags) = (0, ptr::null::<c_int>(), 0);
    #[expect(unsafe_code, reason = "rustix has no move_pages")]
    // SAFETY: with no target nothing is moved: the kernel reads as many addresses, which it follows itself, and writes as many places.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_move_pages,
            this_process,
            addresses.len(),
            addresses.as_ptr(),
            no_target,
            places.as_mut_ptr(),
            no_flags,
        )
    };
    if answer < 0 {
        places.clear();
    }
    places
}

/// `bytes` by the nodes of sampled pages.
pub(super) fn by_node(nodes: &[u32], places: &[c_int], bytes: u64) -> Vec<NodeBytes> {
    if places.is_empty() {
        return Vec::new();
    }
    let share = |node: u32| {
        let there = places
            .iter()
            .filter(|place| u32::try_from(**place) == Ok(node))
            .count();
        (u128::from(bytes) * there as u128 / places.len() as u128) as u64
    };
    nodes
        .iter()
        .map(|&node| NodeBytes {
            node,
            bytes: share(node),
        })
        .collect()
}
