//! The end of a process whose GPU is lost to it.

use std::os::raw::c_uint;

use crate::error::Error;
use crate::sync::Mutex;

type LastAct = Box<dyn FnOnce() + Send>;

static LAST_ACT: Mutex<Option<LastAct>> = Mutex::new(None);

/// Has this done once, before the process ends because its GPU is lost: a process that it starts gets no file of this one's
/// beyond standard error, so that the GPU's driver sees this one's end.
pub fn before_end(act: impl FnOnce() + Send + 'static) {
    *LAST_ACT.lock() = Some(Box::new(act));
}

/// Ends this process at once: nothing else ends copies that nobody can follow any more.
pub(crate) fn end_process(error: &Error) -> ! {
    tracing::error!("{error}; the daemon ends, which ends its copies too: the next one takes its pool over");
    // Held to the end: another thread that comes here must not end the process before the act is done.
    let mut act = LAST_ACT.lock();
    if let Some(act) = act.take() {
        keep_files();
        act();
    }
    #[expect(
        unsafe_code,
        reason = "what std offers runs the driver's own clean-up first, which may never return"
    )]
    // SAFETY: ends the process and returns to nobody.
    unsafe {
        libc::_exit(1)
    }
}

/// Has no process that is started from now on inherit files: those of the driver keep the GPU's context alive.
fn keep_files() {
    #[expect(unsafe_code, reason = "rustix marks one descriptor at a time")]
    // SAFETY: marks descriptors, and neither closes nor opens any.
    let marked = unsafe { libc::close_range(3, c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC as _) };
    if marked != 0 {
        tracing::warn!(
            "files of this process stay open in the next one: {}",
            std::io::Error::last_os_error()
        );
    }
}
