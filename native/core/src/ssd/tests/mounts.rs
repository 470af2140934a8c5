//! File systems of a test's own.

use std::path::Path;
use std::process::Command;

/// Says to a process that it may mount what it likes.
const VARIABLE: &str = "PEGAFLOW_TEST_MOUNTS";

/// Does a test, by its whole name, in a process of its own that may mount file systems, which nobody else sees.
///
/// A system that allows no such process is said: `test` is not done there.
pub(super) fn with_mounts(name: &str, test: impl FnOnce()) {
    if std::env::var_os(VARIABLE).is_some() {
        return test();
    }
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount"]);
        command
    };
    if !unshare()
        .arg("true")
        .status()
        .is_ok_and(|status| status.success())
    {
        eprintln!(
            "{name}: not tried, for this system lets nobody mount: the fault engine's tests do without"
        );
        return;
    }
    let again = unshare()
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(VARIABLE, "1")
        .output()
        .unwrap();
    let said = [&again.stdout[..], &again.stderr[..]].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(again.status.success() && said.contains("1 passed"), "{said}");
}

fn mount(args: &[&str], dir: &Path) {
    let status = Command::new("mount").args(args).arg(dir).status();
    assert!(status.unwrap().success());
}

/// A tmpfs of so many bytes, until the process ends.
pub(super) fn mount_tmpfs(dir: &Path, bytes: u64) {
    let size = format!("size={bytes}");
    mount(&["-t", "tmpfs", "-o", &size, "none"], dir);
}

/// Another place for a directory, until the process ends.
pub(super) fn mount_again(from: &Path, to: &Path) {
    mount(&["--bind", from.to_str().unwrap()], to);
}
