use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};
use std::{process, thread};

use pegaflow_client::{ClientErrorKind, Operation, status, stop};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, listen, socket_with};
use rustix::process::geteuid;
use rustix::thread::{Uid, set_thread_res_uid};

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
fn a_socket_that_is_another_user_s_is_said_to_be_and_the_remedy_named() {
    let stage = Stage::new();
    let _daemon = stage.daemon(Script::default());
    for mode in [0o000, 0o400] {
        fs::set_permissions(&stage.socket, Permissions::from_mode(mode)).unwrap();
        for error in as_no_user_in_particular(|| {
            [
                status(&stage.socket, LIMIT).unwrap_err(),
                stop(&stage.socket, false, LIMIT).unwrap_err(),
                Operation::start(&stage.socket, "{}".to_owned(), LIMIT).unwrap_err(),
            ]
        }) {
            assert_eq!(error.kind(), ClientErrorKind::Refused, "{error}");
            let socket = stage.socket.to_str().unwrap();
            for word in [socket, "may not use", "--socket-group"] {
                assert!(error.message().contains(word), "{error}");
            }
            assert!(!error.message().contains("no daemon"), "{error}");
        }
    }
}

#[test]
fn a_daemon_that_others_wait_for_is_waited_for_too() {
    let stage = Stage::new();
    let listener = UnixListener::bind(&stage.socket).unwrap();
    listen(&listener, 0).unwrap();
    let mut waiting = Vec::new();
    let is_full = loop {
        let socket = socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::NONBLOCK,
            None,
        )
        .unwrap();
        match connect(&socket, &SocketAddrUnix::new(&stage.socket).unwrap()) {
            Ok(()) => waiting.push(socket),
            Err(error) => break error,
        }
    };
    assert_eq!(is_full, Errno::AGAIN);
    let error = status(&stage.socket, Duration::from_millis(200)).unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Timeout, "{error}");
}

/// Does it without the rights of root, where this process has them.
fn as_no_user_in_particular<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let nobody = Uid::from_raw(65_534);
    thread::scope(|scope| {
        let working = scope.spawn(|| {
            if geteuid().is_root() {
                // Of this thread alone.
                set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            work()
        });
        working.join().unwrap()
    })
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
