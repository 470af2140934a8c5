//! Memory of several NUMA nodes: the pool takes it of each in turn, so that no engine has all of it far away.
//!
//! The kernel gives a thread memory of the node that it runs on, unless it was told otherwise (by numactl, say).

use std::collections::BTreeSet;
use std::fs;
use std::marker::PhantomData;
use std::path::Path;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The nodes of whose memory the current thread takes; when dropped, it runs again where it ran before.
pub(super) struct Nodes {
    before: Option<CpuSet>,
    /// The processors of each that the thread may use; none where all memory is equally near.
    processors: Vec<CpuSet>,
    of_this_thread: PhantomData<*const ()>,
}

impl Nodes {
    /// Those of the machine's GPUs; without any, all that have memory and processors.
    pub(super) fn of_machine() -> Self {
        let before = sched_getaffinity(None).ok();
        let processors = before
            .as_ref()
            .map_or_else(Vec::new, |allowed| processors_in(Path::new("/sys"), allowed));
        Self::of(before, processors)
    }

    pub(super) fn of(before: Option<CpuSet>, processors: Vec<CpuSet>) -> Self {
        Self {
            before,
            processors,
            of_this_thread: PhantomData,
        }
    }

    /// Has the thread, and those that it starts from now on, take memory of the node whose turn this is.
    pub(super) fn go_to(&self, turn: u64) {
        let count = self.processors.len().max(1) as u64;
        if let Some(processors) = self.processors.get((turn % count) as usize) {
            run_on(processors);
        }
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        if let (Some(before), false) = (&self.before, self.processors.is_empty()) {
            run_on(before);
        }
    }
}

/// Where the kernel refuses, memory is farther away, and all works.
fn run_on(processors: &CpuSet) {
    if let Err(error) = sched_setaffinity(None, processors) {
        tracing::debug!("a thread stays where it is: {error}");
    }
}

/// The allowed processors of each node whose memory is to be taken; none for less than two nodes.
pub(super) fn processors_in(sys: &Path, allowed: &CpuSet) -> Vec<CpuSet> {
    let with_memory = list_in(&sys.join("devices/system/node/has_memory"));
    if with_memory.len() < 2 {
        return Vec::new();
    }
    let of_gpus = nodes_of_gpus(sys);
    let nodes = with_memory
        .iter()
        .filter(|node| of_gpus.is_empty() || of_gpus.contains(*node));
    nodes
        .map(|node| {
            let mut set = CpuSet::new();
            for cpu in list_in(&sys.join(format!("devices/system/node/node{node}/cpulist"))) {
                if cpu < CpuSet::MAX_CPU && allowed.is_set(cpu) {
                    set.set(cpu);
                }
            }
            set
        })
        .filter(|set| set.count() > 0)
        .collect()
}

/// The nodes that NVIDIA's driver has GPUs on, as far as the machine says.
fn nodes_of_gpus(sys: &Path) -> BTreeSet<usize> {
    let devices = fs::read_dir(sys.join("bus/pci/drivers/nvidia"));
    let devices = devices.into_iter().flatten().flatten();
    devices
        .filter_map(|device| {
            let node = fs::read_to_string(device.path().join("numa_node")).ok()?;
            // -1 where it is not known.
            node.trim().parse().ok()
        })
        .collect()
}

/// A list of numbers and ranges, as sysfs has them; empty when it cannot be read.
pub(super) fn list_in(path: &Path) -> BTreeSet<usize> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let ranges = text.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    });
    ranges.flatten().collect()
}
