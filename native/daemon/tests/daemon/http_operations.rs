//! Operations over HTTP, and the token that lets them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use pegaflow_core::error::ErrorKind;

use crate::support::{Daemon, Response, TOKEN, config, post, request, token_file};

const VERIFY: &str = r#"{"tier": "memory"}"#;

fn daemon_with_token() -> Daemon {
    Daemon::start_with(|config| {
        config.http_token_file = Some(token_file(&config.socket, TOKEN));
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
        ("frobnicate", "", 404),
        ("tier-verify", "", 400),
        ("tier-verify", "[]", 400),
        ("tier-verify", "}", 400),
        ("tier-verify", "[{}", 400),
        ("tier-verify", r#"{"tier": "tape"}"#, 400),
        ("tier-verify", r#"{"tier": "ssd"}"#, 409),
        ("tier-evict", r#"{"tier": "memory"}"#, 400),
        ("tier-evict", r#"{"tier": "memory", "amount": null}"#, 400),
        ("warm", r#"{"from": "ssd", "rate_bytes_per_s": 0}"#, 400),
        ("warm", r#"{"from": "ssd", "namespace": ""}"#, 400),
        ("namespace-evict", r#"{"namespace": "ab"}"#, 404),
        ("tier-verify", &large, 413),
    ];
    for (name, body, code) in cases {
        let answer = ask(&daemon, name, Some(TOKEN), body);
        assert_eq!(answer.code, code, "{name} {body:.40}: {}", answer.body);
        assert!(!error(&answer).is_empty());
    }
}

#[tokio::test]
async fn a_body_that_says_too_much_is_refused_with_what_it_says() {
    let daemon = daemon_with_token();
    let cases = [
        (
            r#"{"tier": "memory", "tier": "memory"}"#,
            "duplicate field `tier`",
        ),
        (r#"{"tier": "memory", "frob": 1}"#, "unknown field `frob`"),
        (
            r#"{"operation": "tier-drain", "tier": "memory"}"#,
            "\"tier-drain\"",
        ),
        (
            r#"{"operation": "tier-verify", "operation": "tier-verify", "tier": "memory"}"#,
            "duplicate field `operation`",
        ),
        (
            r#"{"operation": 1, "tier": "memory"}"#,
            "operation cannot be read",
        ),
    ];
    for (body, said) in cases {
        let answer = ask(&daemon, "tier-verify", Some(TOKEN), body);
        assert_eq!(answer.code, 400, "{body}: {}", answer.body);
        assert!(error(&answer).contains(said), "{}", answer.body);
    }
    let twice = r#"{"tier": "memory", "amount": {"bytes": 1, "bytes": 2}}"#;
    assert_eq!(ask(&daemon, "tier-evict", Some(TOKEN), twice).code, 400);
    let query = ask(&daemon, "tier-verify?tier=memory", Some(TOKEN), VERIFY);
    assert_eq!(query.code, 400);
    assert!(error(&query).contains("?tier=memory"), "{}", query.body);
    let large = ask(&daemon, "tier-verify", Some(TOKEN), &" ".repeat(100_000));
    assert_eq!(large.code, 413);
    assert!(error(&large).contains("65536"), "{}", large.body);
    let same = r#"{"operation": "tier-verify", "tier": "memory"}"#;
    assert_eq!(ask(&daemon, "tier-verify", Some(TOKEN), same).code, 200);
}

#[tokio::test]
async fn operations_are_posted_and_all_else_is_got() {
    let daemon = daemon_with_token();
    for (path, method, allowed) in [
        ("/v1/operations/warm", "GET", "POST"),
        ("/v1/status", "POST", "GET"),
    ] {
        let answer = request(&daemon.ready.http_addr, method, path);
        assert_eq!(answer.code, 405);
        assert_eq!(error(&answer), format!("only {allowed} is allowed for {path}"));
    }
}

#[tokio::test]
async fn another_token_counts_at_once() {
    let daemon = daemon_with_token();
    let other = TOKEN.to_uppercase();
    fs::write(daemon.socket().with_extension("token"), &other).unwrap();
    assert_eq!(ask(&daemon, "tier-verify", Some(TOKEN), VERIFY).code, 401);
    assert_eq!(ask(&daemon, "tier-verify", Some(&other), VERIFY).code, 200);
}

#[tokio::test]
async fn a_token_file_that_others_can_read_admits_nobody_any_more() {
    let daemon = daemon_with_token();
    let file = daemon.socket().with_extension("token");
    for mode in [0o644, 0o620] {
        fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let answer = ask(&daemon, "tier-verify", Some(TOKEN), VERIFY);
        assert_eq!(answer.code, 403);
        assert!(error(&answer).contains("http_token_file cannot be used"));
        assert!(!answer.body.contains(TOKEN));
    }
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(ask(&daemon, "tier-verify", Some(TOKEN), VERIFY).code, 200);
    fs::remove_file(&file).unwrap();
    assert_eq!(ask(&daemon, "tier-verify", Some(TOKEN), VERIFY).code, 403);
}

#[test]
fn a_token_file_that_others_can_read_ends_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("token");
    fs::write(&file, TOKEN).unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let mut settings = config(directory.path());
    settings.http_token_file = Some(file.clone());
    let error = pegaflow_daemon::run(settings, Vec::new(), |_| unreachable!()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains(file.to_str().unwrap()), "{error}");
    assert!(!directory.path().join("daemon.sock").exists());
}
