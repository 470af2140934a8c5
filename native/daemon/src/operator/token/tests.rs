use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use axum::http::HeaderValue;
use pegaflow_core::error::ErrorKind;
use tempfile::TempDir;

use super::Token;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn file(content: &[u8], mode: u32) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("token");
    fs::write(&path, content).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
    (directory, path)
}

fn refusal(content: &[u8], mode: u32) -> String {
    let (_directory, path) = file(content, mode);
    let error = Token::read(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert!(error.message().contains(path.to_str().unwrap()), "{error}");
    error.message().to_owned()
}

#[test]
fn only_the_token_itself_is_admitted() {
    let (_directory, path) = file(format!("  {TOKEN}\n").as_bytes(), 0o600);
    let token = Token::read(&path).unwrap();
    let admits = |header: &str| token.admits(Some(&HeaderValue::from_str(header).unwrap()));
    for scheme in ["Bearer", "bearer", "BEARER", "bEaReR", "Bearer  "] {
        assert!(admits(&format!("{scheme} {TOKEN}")), "{scheme}");
    }
    assert!(!token.admits(None));
    let others = [
        "".to_owned(),
        "Bearer ".to_owned(),
        TOKEN.to_owned(),
        format!("Basic {TOKEN}"),
        format!("Bearer{TOKEN}"),
        format!("Bearers {TOKEN}"),
        format!("Bearer {TOKEN}0"),
        format!("Bearer {}", &TOKEN[1..]),
        format!("Bearer {}", TOKEN.to_uppercase()),
    ];
    for other in others {
        assert!(!admits(&other), "{other:?}");
    }
}

#[test]
fn a_file_that_others_can_use_is_refused() {
    for mode in [0o640, 0o604, 0o620, 0o602, 0o644, 0o660, 0o777] {
        let said = refusal(TOKEN.as_bytes(), mode);
        assert!(
            said.contains(&format!("{mode:04o}")) && said.contains("chmod 600"),
            "{said}"
        );
    }
    for mode in [0o400, 0o600, 0o700] {
        let (_directory, path) = file(TOKEN.as_bytes(), mode);
        Token::read(&path).unwrap();
    }
}

#[test]
fn what_is_no_token_is_refused_with_what_is() {
    let contents: [&[u8]; 5] = [
        b"",
        b"\n",
        b"0123456789abcde\n",
        b"0123456789 abcdef",
        "0123456789abcdéf".as_bytes(),
    ];
    for content in contents {
        assert!(refusal(content, 0o600).contains("16 to 4096"));
    }
    assert!(refusal(&[b'a'; 4097], 0o600).contains("16 to 4096"));
}

#[test]
fn what_is_no_file_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let error = Token::read(directory.path()).unwrap_err();
    assert!(error.message().contains("is no file"), "{error}");
    let error = Token::read(&directory.path().join("missing")).unwrap_err();
    assert!(error.message().contains("cannot be read"), "{error}");
}
