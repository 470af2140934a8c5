use std::process::Command;

use tempfile::TempDir;

use super::{SHORTEST_LIFE, start};

#[test]
fn a_daemon_that_has_lived_long_enough_starts_its_successor() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("started");
    let mut command = Command::new("touch");
    command.arg(&file);
    assert!(start(command, SHORTEST_LIFE).unwrap().wait().unwrap().success());
    assert!(file.exists());
}

#[test]
fn one_that_ended_soon_starts_none_and_says_so() {
    let error = start(Command::new("true"), SHORTEST_LIFE / 2).unwrap_err();
    assert!(error.message().contains("lived for 30 s only"), "{error}");
}

#[test]
fn a_successor_that_cannot_be_run_is_named() {
    let error = start(Command::new("/no/such/program"), SHORTEST_LIFE).unwrap_err();
    assert!(error.message().contains("/no/such/program"), "{error}");
}
