//! The stand-in for the driver, and what only it can show.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use cudarc::driver::sys::culib;
use libtest_mimic::Trial;
use pegaflow_core::cuda::{CopyStrategy, CopyWay, GpuSettings, MemoryHandle, before_end};
use tempfile::TempDir;

use crate::engine::Engine;
use crate::memory::{DeviceMemory, one_run};
use crate::pool::{Daemon, save_and_load};
use crate::stage::Stage;

const IN_USE: &str = "PEGAFLOW_TEST_STAND_IN";
const REFUSES_BATCHES: &str = "CUDA_STAND_IN_REFUSES_BATCHES";

/// Whether this process has the stand-in.
pub(crate) fn is_used() -> bool {
    env::var_os(IN_USE).is_some()
}

/// Runs this program with the stand-in in its path, unless it has it or uses a GPU; its exit code.
pub(crate) fn run_with_it() -> Option<i32> {
    if is_used() || env::var_os("PEGAFLOW_TEST_GPU").is_some() {
        return None;
    }
    let dir = TempDir::new().unwrap();
    fs::copy(library(), dir.path().join("libcuda.so")).unwrap();
    symlink("libcuda.so", dir.path().join("libnvidia-ml.so.1")).unwrap();
    Some(again(dir.path(), env::args().skip(1), &[]))
}

/// The library, which cargo builds beside this program.
fn library() -> PathBuf {
    env::current_exe().unwrap().with_file_name("libcuda_stand_in.so")
}

fn again(library: &Path, arguments: impl Iterator<Item = String>, environment: &[(&str, &str)]) -> i32 {
    let status = Command::new(env::current_exe().unwrap())
        .args(arguments)
        .env("LD_LIBRARY_PATH", library)
        .env(IN_USE, "1")
        .envs(environment.iter().copied())
        .status();
    status.unwrap().code().unwrap_or(1)
}

/// Bytes of device memory that this process has mapped.
pub(crate) fn mapped_bytes() -> u64 {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let own = maps.lines().filter(|line| line.contains("memfd:cuda-stand-in"));
    own.map(|line| {
        let (begin, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        u64::from_str_radix(end, 16).unwrap() - u64::from_str_radix(begin, 16).unwrap()
    })
    .sum()
}

/// Memory as expandable segments have it, of the current context's GPU.
pub(crate) fn allocate_virtual(bytes: usize) -> u64 {
    let mut address = 0;
    #[expect(unsafe_code, reason = "a call of the stand-in")]
    // SAFETY: the function has this type, and writes to a number of ours.
    unsafe {
        let allocate = culib()
            .get::<unsafe extern "C" fn(*mut u64, usize) -> u32>(b"standInAllocateVirtual")
            .unwrap();
        assert_eq!(allocate(&raw mut address, bytes), 0);
    }
    address
}

pub(crate) fn trials() -> Vec<Trial> {
    let test = |name: &'static str, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    vec![
        test(
            "a_driver_without_batch_calls_passes_the_suite",
            a_driver_without_batch_calls_passes_the_suite,
        ),
        test(
            "a_driver_that_refuses_batches_passes_the_suite",
            a_driver_that_refuses_batches_passes_the_suite,
        ),
        test(
            "a_batch_that_is_refused_is_copied_one_by_one_from_then_on",
            a_batch_that_is_refused_is_copied_one_by_one_from_then_on,
        ),
        test(
            "a_driver_that_sees_no_gpu_is_no_error_and_the_reason_is_kept",
            a_driver_that_sees_no_gpu_is_no_error_and_the_reason_is_kept,
        ),
        test(
            "a_driver_without_a_call_that_is_needed_is_named_with_what_to_install",
            a_driver_without_a_call_that_is_needed_is_named_with_what_to_install,
        ),
        test(
            "a_driver_that_is_too_old_is_named_with_what_to_install",
            a_driver_that_is_too_old_is_named_with_what_to_install,
        ),
        test(
            "a_gpu_that_is_lost_ends_the_process",
            a_gpu_that_is_lost_ends_the_process,
        ),
        test(
            "a_gpu_that_is_shared_through_mps_is_said_to_be",
            a_gpu_that_is_shared_through_mps_is_said_to_be,
        ),
        test(
            "memory_that_is_mapped_piece_by_piece_is_refused_with_the_settings",
            memory_that_is_mapped_piece_by_piece_is_refused_with_the_settings,
        ),
        test(
            "memory_whose_handle_names_nothing_here_is_refused_with_the_namespaces",
            memory_whose_handle_names_nothing_here_is_refused_with_the_namespaces,
        ),
    ]
    .into_iter()
    .chain(
        env::var_os("PEGAFLOW_TEST_STARTED_AGAIN")
            .map(|_| {
                vec![
                    test("sees_no_gpu", sees_no_gpu),
                    test("loses_its_gpu", loses_its_gpu),
                    test("has_mps", has_mps),
                    test("lacks_a_call", lacks_a_call),
                    test("is_too_old", is_too_old),
                    test("has_no_batches_any_more", has_no_batches_any_more),
                ]
            })
            .unwrap_or_default(),
    )
    .collect()
}

fn a_driver_without_batch_calls_passes_the_suite() {
    let bytes = library_without(b"cuMemcpyBatchAsync\0");
    assert_eq!(start_over(&bytes, "the_cuda_engine_passes_the_suite", &[]), 0);
}

/// The library without the name of a call.
fn library_without(name: &[u8]) -> Vec<u8> {
    let mut bytes = fs::read(library()).unwrap();
    let places: Vec<usize> = bytes
        .windows(name.len())
        .enumerate()
        .filter(|(_, window)| *window == name)
        .map(|(place, _)| place)
        .collect();
    assert!(!places.is_empty());
    for place in places {
        bytes[place] = b'_';
    }
    bytes
}

fn a_driver_without_a_call_that_is_needed_is_named_with_what_to_install() {
    let bytes = library_without(b"cuIpcOpenEventHandle\0");
    assert_eq!(start_over(&bytes, "lacks_a_call", &[]), 0);
}

fn lacks_a_call() {
    let reason = reason_for_no_gpu();
    assert!(
        reason.contains("no cuIpcOpenEventHandle: install one for CUDA 12"),
        "{reason}"
    );
}

fn a_driver_that_is_too_old_is_named_with_what_to_install() {
    assert_eq!(
        start_again("is_too_old", &[("CUDA_STAND_IN_VERSION", "11080")]),
        0
    );
}

fn is_too_old() {
    let reason = reason_for_no_gpu();
    assert!(
        reason.contains("one for CUDA 11.8: install one for CUDA 12.0"),
        "{reason}"
    );
}

fn a_driver_that_refuses_batches_passes_the_suite() {
    let dir = TempDir::new().unwrap();
    let environment = [(REFUSES_BATCHES, dir.path().to_str().unwrap())];
    assert_eq!(start_again("the_cuda_engine_passes_the_suite", &environment), 0);
}

fn a_batch_that_is_refused_is_copied_one_by_one_from_then_on() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("refuses");
    let environment = [(REFUSES_BATCHES, file.to_str().unwrap())];
    assert_eq!(start_again("has_no_batches_any_more", &environment), 0);
    assert!(file.exists(), "the test did not come to its end");
}

fn has_no_batches_any_more() {
    let settings = GpuSettings {
        strategy: CopyStrategy::Batch,
        max_rate: None,
    };
    let daemon = Daemon::with_settings(64 << 20, settings);
    let engine = Engine::start();
    let memory = DeviceMemory::new(&daemon, &engine, 1 << 20);
    let copies = memory.open(4, vec![one_run(memory.base(), 1 << 18)]).unwrap();
    let way = || daemon.settled().devices[0].engines[0].copy_way;
    save_and_load(&daemon, &memory, &copies);
    assert_eq!(way(), CopyWay::Batch);
    fs::write(env::var_os(REFUSES_BATCHES).unwrap(), "").unwrap();
    for _ in 0..2 {
        save_and_load(&daemon, &memory, &copies);
        assert_eq!(way(), CopyWay::Plain);
    }
}

fn start_again(test: &str, environment: &[(&str, &str)]) -> i32 {
    start_over(&fs::read(library()).unwrap(), test, environment)
}

/// The test alone, in a process of its own, with these bytes for a library.
fn start_over(library: &[u8], test: &str, environment: &[(&str, &str)]) -> i32 {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("libcuda.so"), library).unwrap();
    let mut environment = environment.to_vec();
    environment.push(("PEGAFLOW_TEST_STARTED_AGAIN", "1"));
    again(
        dir.path(),
        ["--exact".to_owned(), test.to_owned()].into_iter(),
        &environment,
    )
}

fn a_driver_that_sees_no_gpu_is_no_error_and_the_reason_is_kept() {
    assert_eq!(start_again("sees_no_gpu", &[("CUDA_VISIBLE_DEVICES", "")]), 0);
}

fn sees_no_gpu() {
    let reason = reason_for_no_gpu();
    assert!(reason.contains("CUDA_ERROR_NO_DEVICE"), "{reason}");
}

fn reason_for_no_gpu() -> String {
    let daemon = Daemon::start(64 << 20);
    let snapshot = daemon.settled();
    assert_eq!(snapshot.state, "none");
    daemon.gpus.close();
    snapshot.reason.unwrap()
}

fn a_gpu_that_is_lost_ends_the_process() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("broken");
    let environment = [("CUDA_STAND_IN_BROKEN", file.to_str().unwrap())];
    assert_eq!(start_again("loses_its_gpu", &environment), 1);
    let inherited = fs::read_to_string(file).unwrap();
    assert!(!inherited.is_empty(), "nothing was done before the end");
    let beyond = inherited
        .split_whitespace()
        .any(|number| number.parse::<u32>().unwrap() > 3);
    assert!(
        !beyond,
        "files of the lost process stayed open in the next: {inherited}"
    );
}

fn loses_its_gpu() {
    let daemon = Daemon::start(64 << 20);
    let engine = Engine::start();
    let memory = DeviceMemory::new(&daemon, &engine, 1 << 20);
    let file = env::var("CUDA_STAND_IN_BROKEN").unwrap();
    fs::write(&file, "").unwrap();
    before_end(move || {
        // What lists its files has the list itself as one more.
        let mut list = Command::new("ls");
        let listed = list.arg("/proc/self/fd").output().unwrap();
        fs::write(file, listed.stdout).unwrap();
    });
    memory.read_all();
    unreachable!("the process has ended");
}

fn a_gpu_that_is_shared_through_mps_is_said_to_be() {
    let daemon = Daemon::start(64 << 20);
    let devices = daemon.settled().devices;
    assert!(devices.iter().all(|device| !device.is_shared_by_mps));
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("said");
    let environment = [("CUDA_STAND_IN_MPS", file.to_str().unwrap())];
    assert_eq!(start_again("has_mps", &environment), 0);
    assert!(file.exists(), "the test did not come to its end");
}

fn has_mps() {
    let daemon = Daemon::start(64 << 20);
    let devices = daemon.settled().devices;
    assert!(!devices.is_empty());
    assert!(devices.iter().all(|device| device.is_shared_by_mps));
    fs::write(env::var_os("CUDA_STAND_IN_MPS").unwrap(), "").unwrap();
}

/// Expandable segments and sleep mode have memory of this kind.
fn memory_that_is_mapped_piece_by_piece_is_refused_with_the_settings() {
    let refusal = Engine::start().refusal_of_virtual_memory();
    assert!(refusal.contains("expandable_segments"), "{refusal}");
    assert!(refusal.contains("sleep mode"), "{refusal}");
}

/// As the handle of a process in another namespace.
fn memory_whose_handle_names_nothing_here_is_refused_with_the_namespaces() {
    let (daemon, engine) = (Daemon::start(64 << 20), Engine::start());
    let mut memory = DeviceMemory::new(&daemon, &engine, 4_096);
    memory.exported.memory.allocations = vec![MemoryHandle([0xff; 64])];
    let error = memory.open(1, vec![one_run(0, 4_096)]).unwrap_err();
    assert!(error.message().contains("--ipc=host"), "{error}");
}
