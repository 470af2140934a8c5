//! Following an operation.

use std::time::Duration;

use pegaflow_client::{ClientErrorKind, Operation, OperationEvent};
use pegaflow_proto::v1::OperateProgress;

use crate::fake::Script;
use crate::stage::{LIMIT, Stage, eventually};

const REQUEST: &str = r#"{"operation": "anything"}"#;

fn first_progress() -> OperationEvent {
    OperationEvent::Progress(OperateProgress {
        blocks: 1,
        bytes: 2,
        blocks_expected: 3,
        bytes_expected: 4,
    })
}

#[test]
fn one_that_is_cancelled_ends_with_its_result() {
    let stage = Stage::new();
    let daemon = stage.daemon(Script::default());
    let operation = Operation::start(&stage.socket, REQUEST.to_owned(), LIMIT).unwrap();
    assert_eq!(operation.next().unwrap(), first_progress());
    operation.cancel();
    operation.cancel();
    assert_eq!(
        operation.next().unwrap(),
        OperationEvent::Result(REQUEST.to_owned())
    );
    drop(operation);
    assert_eq!(daemon.seen(|seen| seen.operations_left), 0);
}

#[test]
fn one_that_nobody_follows_any_more_is_left() {
    let stage = Stage::new();
    let daemon = stage.daemon(Script::default());
    let operation = Operation::start(&stage.socket, REQUEST.to_owned(), LIMIT).unwrap();
    assert_eq!(operation.next().unwrap(), first_progress());
    drop(operation);
    eventually("the daemon notices", || {
        daemon.seen(|seen| seen.operations_left) == 1
    });
}

#[test]
fn a_daemon_that_tells_nothing_is_waited_for_no_longer_than_asked() {
    let stage = Stage::new();
    let _daemon = stage.daemon(Script::default());
    let patience = Duration::from_millis(500);
    let operation = Operation::start(&stage.socket, REQUEST.to_owned(), patience).unwrap();
    let end = loop {
        match operation.next() {
            Ok(event) => assert_eq!(event, first_progress()),
            Err(error) => break error,
        }
    };
    assert_eq!(end.kind(), ClientErrorKind::Timeout);
}

#[test]
fn what_the_daemon_refuses_is_told_in_its_words() {
    let stage = Stage::new();
    let _daemon = stage.daemon(Script::default());
    let error = Operation::start(&stage.socket, String::new(), LIMIT).unwrap_err();
    assert_eq!(
        (error.kind(), error.message()),
        (ClientErrorKind::Invalid, "an empty operation")
    );
}

#[test]
fn without_a_daemon_it_is_unreachable() {
    let stage = Stage::new();
    let error = Operation::start(&stage.socket, REQUEST.to_owned(), LIMIT).unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Unreachable);
}
