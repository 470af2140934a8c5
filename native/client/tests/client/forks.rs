use pegaflow_client::{ClientErrorKind, Result};
use rustix::process::{Pid, WaitOptions, waitpid};

use crate::fake::Script;
use crate::stage::{Stage, try_ask};

/// Whether `check` holds in a forked child.
fn holds_in_a_child(check: impl FnOnce() -> bool) -> bool {
    #[expect(unsafe_code, reason = "std has no fork")]
    // SAFETY: the child only formats an error, for which the C library keeps its allocator usable, and ends.
    let forked = unsafe { libc::fork() };
    if forked == 0 {
        let code = i32::from(!check());
        #[expect(unsafe_code, reason = "std has no _exit")]
        // SAFETY: ends the child without running what belongs to the parent.
        unsafe {
            libc::_exit(code)
        }
    }
    let child = Pid::from_raw(forked).unwrap();
    let (_, status) = waitpid(Some(child), WaitOptions::empty()).unwrap().unwrap();
    status.exit_status() == Some(0)
}

fn is_refused<T>(result: Result<T>) -> bool {
    result.is_err_and(|error| error.kind() == ClientErrorKind::Forked && error.message().contains("fork"))
}

#[test]
fn a_forked_child_is_refused_with_a_sentence_and_the_parent_goes_on() {
    let stage = Stage::new();
    let (_daemon, scheduler) = stage.attached_scheduler(Script::default());
    let worker = stage.worker();
    assert!(holds_in_a_child(|| is_refused(try_ask(&scheduler, "r"))));
    assert!(holds_in_a_child(
        || is_refused(scheduler.take("r")) && is_refused(scheduler.close())
    ));
    assert!(holds_in_a_child(
        || is_refused(worker.poll()) && is_refused(worker.load("r", 1, 1, 0, vec![], None))
    ));
    assert!(scheduler.attached().unwrap());
}

#[test]
fn a_forked_child_can_drop_what_it_inherited() {
    let stage = Stage::new();
    let (_daemon, scheduler) = stage.attached_scheduler(Script::default());
    let mut inherited = Some(scheduler);
    assert!(holds_in_a_child(|| inherited.take().is_some()));
    assert!(
        inherited.unwrap().attached().unwrap(),
        "the parent's client goes on"
    );
}
