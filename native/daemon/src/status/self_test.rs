//! The round trips of the start, in the status document.

use pegaflow_core::self_test;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub(super) struct SelfTest {
    copy_path: String,
    bytes: u64,
    duration_s: f64,
    error: Option<String>,
}

impl SelfTest {
    pub(super) fn of(test: self_test::SelfTest) -> Self {
        Self {
            copy_path: test.copy_path,
            bytes: test.bytes,
            duration_s: test.duration.as_secs_f64(),
            error: test.error,
        }
    }
}
