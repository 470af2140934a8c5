//! The pool's memory comes of the nodes that are near to its users.

use std::fs;
use std::path::Path;

use rustix::thread::{CpuSet, sched_getaffinity};
use tempfile::TempDir;

use crate::pool::nodes::{Nodes, processors_in};

/// A machine of these nodes, each with its processors, of which some have memory, and with GPUs on nodes.
fn machine(processors: &[&str], with_memory: &str, gpus: &[&str]) -> TempDir {
    let sys = TempDir::new().unwrap();
    let put = |path: &Path, text: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{text}\n")).unwrap();
    };
    let nodes = sys.path().join("devices/system/node");
    put(&nodes.join("has_memory"), with_memory);
    for (number, list) in processors.iter().enumerate() {
        put(&nodes.join(format!("node{number}/cpulist")), list);
    }
    for (number, node) in gpus.iter().enumerate() {
        let device = format!("bus/pci/drivers/nvidia/0000:{number:02}:00.0/numa_node");
        put(&sys.path().join(device), node);
    }
    sys
}

fn set(processors: impl IntoIterator<Item = usize>) -> CpuSet {
    let mut set = CpuSet::new();
    processors.into_iter().for_each(|cpu| set.set(cpu));
    set
}

fn all() -> CpuSet {
    set(0..CpuSet::MAX_CPU)
}

#[test]
fn without_gpus_all_nodes_with_memory_and_processors_count() {
    // The third has no processors, the last no memory.
    let sys = machine(&["0-3,8-11", "4-7", "", "12-15"], "0-2", &[]);
    let found = processors_in(sys.path(), &all());
    assert!(found == [set((0..4).chain(8..12)), set(4..8)]);
}

#[test]
fn the_nodes_of_gpus_come_before_the_others() {
    let processors = ["0-1", "2-3", "4-5", "6-7"];
    let sys = machine(&processors, "0-3", &["3", "1", "3"]);
    assert!(processors_in(sys.path(), &all()) == [set(2..4), set(6..8)]);
    let unknown = machine(&processors[..2], "0-1", &["-1"]);
    assert!(processors_in(unknown.path(), &all()) == [set(0..2), set(2..4)]);
}

#[test]
fn processors_that_the_daemon_may_not_use_are_left_alone() {
    let sys = machine(&["0-3", "4-7"], "0-1", &[]);
    assert!(processors_in(sys.path(), &set([1, 2, 5])) == [set(1..3), set([5])]);
    assert!(processors_in(sys.path(), &set([5])) == [set([5])]);
}

#[test]
fn on_a_machine_of_one_node_threads_stay_where_they_are() {
    for sys in [machine(&["0-63"], "0", &["0"]), TempDir::new().unwrap()] {
        assert!(processors_in(sys.path(), &all()).is_empty());
    }
}

#[test]
fn a_thread_takes_its_turns_and_then_runs_where_it_ran_before() {
    let before = sched_getaffinity(None).unwrap();
    let each: Vec<_> = (0..CpuSet::MAX_CPU)
        .filter(|cpu| before.is_set(*cpu))
        .map(|cpu| set([cpu]))
        .collect();
    let nodes = Nodes::of(Some(before), each.clone());
    for turn in 0..3 * each.len() {
        nodes.go_to(turn as u64);
        assert!(sched_getaffinity(None).unwrap() == each[turn % each.len()]);
        let started = std::thread::spawn(|| sched_getaffinity(None).unwrap());
        assert!(started.join().unwrap() == each[turn % each.len()]);
    }
    drop(nodes);
    assert!(sched_getaffinity(None).unwrap() == before);
}
