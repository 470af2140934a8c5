//! Operations over HTTP, and the token that lets them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use pegaflow_core::error::ErrorKind;

use crate::support::{Daemon, Response, config, post};

const TOKEN: &str = "f0e1d2c3b4a5968778695a4b3c2d1e0f";
const VERIFY: &str = r#"{"tier": "memory"}"#;

fn daemon_with_token() -> Daemon {
    Daemon::start_with(|config| {
        let file = config.socket.with_extension("token");
        fs::write(&file, format!("{TOKEN}\n")).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        config.http_token_file = Some(file);
    })
}

fn ask(daemon: &Daemon, name: &str, token: Option<&str>, body: &str) -> Response {
    let authorization = token.map(|token| format!("Authorization: Bearer {token}\r\n"));
    post(
        &daemon.ready.http_addr,
        &format!("/v1/operations/{name}"),
        &authorization.unwrap_or_default(),
        body,
    )
}

fn error(answer: &Response) -> String {
    answer.json()["error"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn without_a_token_file_nothing_can_be_changed() {
    let daemon = Daemon::start();
    for token in [None, Some(TOKEN)] {
        let answer = ask(&daemon, "tier-verify", token, VERIFY);
        assert_eq!(answer.code, 403);
        assert!(error(&answer).contains("--http-token-file"));
    }
}

#[tokio::test]
async fn only_who_has_the_token_may() {
    let daemon = daemon_with_token();
    for token in [
        None,
        Some(""),
        Some("f0e1d2c3b4a5968778695a4b3c2d1e00"),
        Some(&TOKEN[1..]),
    ] {
        let answer = ask(&daemon, "tier-verify", token, VERIFY);
        assert_eq!(answer.code, 401);
        assert!(
            answer.head.contains("www-authenticate: bearer"),
            "{}",
            answer.head
        );
        assert!(!answer.body.contains(TOKEN));
    }
    let answer = ask(&daemon, "tier-verify", Some(TOKEN), VERIFY);
    assert_eq!(answer.code, 200, "{}", answer.body);
    assert_eq!(answer.json()["operation"], "tier-verify");
    assert_eq!(answer.json()["verified"], 0);
}

#[tokio::test]
async fn refusals_have_the_code_of_their_kind() {
    let daemon = daemon_with_token();
    let large = format!(r#"{{"tier": "{}"}}"#, "x".repeat(100_000));
    let cases = [
        ("frobnicate", "", 400),
        ("tier-verify", "", 400),
        ("tier-verify", "[]", 400),
        ("tier-verify", r#"{"tier": "tape"}"#, 400),
        ("tier-verify", r#"{"tier": "ssd"}"#, 409),
        ("namespace-evict", r#"{"namespace": "ab"}"#, 404),
        ("tier-verify", &large, 413),
    ];
    for (name, body, code) in cases {
        let answer = ask(&daemon, name, Some(TOKEN), body);
        assert_eq!(answer.code, code, "{name} {body:.40}: {}", answer.body);
        assert!(!error(&answer).is_empty());
    }
}

#[test]
fn a_token_file_that_others_can_read_ends_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    fs::write(&file, TOKEN).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let mut settings = config(directory.path());
    settings.http_token_file = Some(file.clone());
    let error = pegaflow_daemon::run(settings, |_| unreachable!()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains(file.to_str().unwrap()), "{error}");
    assert!(!directory.path().join("daemon.sock").exists());
}
