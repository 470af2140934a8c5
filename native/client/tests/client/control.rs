use std::os::unix::net::UnixListener;
use std::process;
use std::time::{Duration, Instant};

use pegaflow_client::{ClientErrorKind, status, stop};

use crate::fake::Script;
use crate::stage::{LIMIT, Stage};

#[test]
fn the_status_is_the_daemon_s_document() {
    let stage = Stage::new();
    let _daemon = stage.daemon(Script::default());
    assert_eq!(status(&stage.socket, LIMIT).unwrap(), r#"{"ready": true}"#);
}

#[test]
fn without_a_daemon_it_is_unreachable_and_the_socket_is_named() {
    let stage = Stage::new();
    // No file, and a file that nobody listens on.
    for listens in [None, Some(())] {
        if listens.is_some() {
            drop(UnixListener::bind(&stage.socket).unwrap());
        }
        for error in [
            status(&stage.socket, LIMIT).unwrap_err(),
            stop(&stage.socket, false, LIMIT).unwrap_err(),
        ] {
            assert_eq!(error.kind(), ClientErrorKind::Unreachable);
            assert!(
                error.message().contains(stage.socket.to_str().unwrap()),
                "{error}"
            );
        }
    }
}

#[test]
fn a_daemon_that_does_not_answer_is_waited_for_no_longer_than_asked_and_named() {
    let named = format!("(pid {})", process::id());
    let stage = Stage::new();
    let daemon = stage.daemon(Script::default());
    daemon.hang(true);
    let begun = Instant::now();
    let error = status(&stage.socket, Duration::from_millis(200)).unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Timeout);
    assert!((Duration::from_millis(200)..LIMIT).contains(&begun.elapsed()));
    assert!(error.message().contains(&named), "{error}");

    // One that does not even accept.
    let silent = Stage::new();
    let _listener = UnixListener::bind(&silent.socket).unwrap();
    for error in [
        status(&silent.socket, Duration::from_millis(200)).unwrap_err(),
        stop(&silent.socket, false, Duration::from_millis(200)).unwrap_err(),
    ] {
        assert_eq!(error.kind(), ClientErrorKind::Timeout);
        assert!(error.message().contains(&named), "{error}");
    }
}

#[test]
fn a_refusal_is_told_in_the_daemon_s_words() {
    let stage = Stage::new();
    let _daemon = stage.daemon(Script::default());
    let error = stop(&stage.socket, true, LIMIT).unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ClientErrorKind::Refused, "cannot purge")
    );
}
