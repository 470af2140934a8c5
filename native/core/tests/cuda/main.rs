//! The cuda engine, on the machine's GPU where `PEGAFLOW_TEST_GPU` is set, else on the stand-in for the driver.
//!
//! Handles of memory work between processes only, so this program is the engine's process too, and it starts itself again to
//! have the stand-in's library in its path. It has its own `main` for that.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test")]

use pegaflow_core::{copy, error, layout};

#[path = "../../src/copy/tests/conformance.rs"]
mod conformance;
mod device;
mod engine;
mod memory;
mod points;
mod pool;
mod ring;
#[path = "../../src/copy/tests/shapes.rs"]
mod shapes;
#[path = "../../src/copy/tests/stage.rs"]
mod stage;
mod stand_in;
mod ways;

use libtest_mimic::{Arguments, Trial};

fn main() {
    if std::env::args().nth(1).as_deref() == Some("engine") {
        return engine::serve();
    }
    if let Some(code) = stand_in::run_with_it() {
        std::process::exit(code);
    }
    let test = |name: &'static str, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok(())
        })
    };
    let mut trials = vec![
        test(
            "the_cuda_engine_passes_the_suite",
            memory::the_cuda_engine_passes_the_suite,
        ),
        test(
            "memory_that_cannot_be_exported_is_refused_with_the_setting",
            memory::memory_that_cannot_be_exported_is_refused_with_the_setting,
        ),
        test(
            "layers_outside_of_the_memory_are_refused",
            memory::layers_outside_of_the_memory_are_refused,
        ),
        test(
            "a_gpu_that_the_daemon_does_not_see_is_named",
            memory::a_gpu_that_the_daemon_does_not_see_is_named,
        ),
        test(
            "memory_of_a_killed_engine_is_let_go",
            memory::memory_of_a_killed_engine_is_let_go,
        ),
        test(
            "each_way_of_copies_passes_the_self_test",
            pool::each_way_of_copies_passes_the_self_test,
        ),
        test(
            "pages_of_the_pool_come_back_as_they_were_saved",
            pool::pages_of_the_pool_come_back_as_they_were_saved,
        ),
        test(
            "a_few_pages_are_copied_while_their_caller_goes_on",
            pool::a_few_pages_are_copied_while_their_caller_goes_on,
        ),
        test(
            "neighbours_are_begun_as_one_copy_where_they_are_pinned_as_one",
            pool::neighbours_are_begun_as_one_copy_where_they_are_pinned_as_one,
        ),
        test(
            "many_runs_are_not_begun_by_their_caller",
            pool::many_runs_are_not_begun_by_their_caller,
        ),
        test(
            "the_whole_pool_is_pinned_and_let_go",
            pool::the_whole_pool_is_pinned_and_let_go,
        ),
        test(
            "a_point_has_passed_only_when_what_was_before_it_has_ended",
            points::a_point_has_passed_only_when_what_was_before_it_has_ended,
        ),
        test(
            "the_points_of_a_killed_engine_are_an_error",
            points::the_points_of_a_killed_engine_are_an_error,
        ),
        test(
            "points_are_used_again_once_they_are_dropped",
            points::points_are_used_again_once_they_are_dropped,
        ),
        test(
            "each_way_that_can_be_set_passes_the_suite",
            ways::each_way_that_can_be_set_passes_the_suite,
        ),
        test(
            "the_way_is_measured_unless_it_is_set_and_shown_while_the_engine_is_there",
            ways::the_way_is_measured_unless_it_is_set_and_shown_while_the_engine_is_there,
        ),
        test(
            "copies_stay_below_a_rate_that_is_set",
            ways::copies_stay_below_a_rate_that_is_set,
        ),
        test(
            "blocks_collected_by_the_engine_pass_the_suite",
            ring::blocks_collected_by_the_engine_pass_the_suite,
        ),
        test(
            "a_ring_is_used_where_it_is_set_and_shown",
            ring::a_ring_is_used_where_it_is_set_and_shown,
        ),
        test(
            "a_gather_waits_for_the_engines_stream_and_its_point_for_the_gather",
            ring::a_gather_waits_for_the_engines_stream_and_its_point_for_the_gather,
        ),
    ];
    if stand_in::is_used() {
        trials.extend(stand_in::trials());
    }
    let mut arguments = Arguments::from_args();
    // Tests count bytes of the one GPU.
    arguments.test_threads = Some(1);
    libtest_mimic::run(&arguments, trials).exit();
}
