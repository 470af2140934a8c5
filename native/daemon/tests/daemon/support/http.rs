//! Plain HTTP requests.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// What was answered.
pub(crate) struct Response {
    pub(crate) code: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

/// One request with this method.
pub(crate) fn request(address: &str, method: &str, path: &str) -> Response {
    send(address, method, path, "", "")
}

/// A POST with further header lines and a body.
pub(crate) fn post(address: &str, path: &str, headers: &str, body: &str) -> Response {
    let length = format!("Content-Length: {}\r\n{headers}", body.len());
    send(address, "POST", path, &length, body)
}

fn send(address: &str, method: &str, path: &str, headers: &str, body: &str) -> Response {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n{body}"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let code = head.split(' ').nth(1).unwrap().parse().unwrap();
    Response {
        code,
        head: head.to_lowercase(),
        body: body.to_owned(),
    }
}

pub(crate) fn get(address: &str, path: &str) -> Response {
    request(address, "GET", path)
}

/// All samples of `/metrics`, by name with labels.
pub(crate) fn metrics(address: &str) -> BTreeMap<String, f64> {
    let text = get(address, "/metrics").body;
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}
