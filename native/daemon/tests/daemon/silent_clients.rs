//! No client of HTTP holds a connection by saying nothing, or little.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use crate::support::half_open::{KINDS, Kind, is_closed};
use crate::support::{Daemon, TOKEN, eventually_within, token_file};

/// Ten times what the daemon allows.
const PATIENCE: Duration = Duration::from_secs(100);

fn daemon() -> Daemon {
    Daemon::start_with(|config| {
        config.http_token_file = Some(token_file(&config.socket, TOKEN));
    })
}

#[tokio::test]
async fn each_is_closed_after_a_time() {
    let daemon = daemon();
    let address = &daemon.ready.http_addr;
    let mut open: Vec<_> = KINDS.into_iter().map(|kind| kind.open(address, TOKEN)).collect();
    let mut takes_none = Kind::TakesNoneOfMany.open(address, TOKEN);
    eventually_within("the others are closed", PATIENCE, async || {
        open.retain_mut(|stream| !is_closed(stream));
        open.is_empty()
    })
    .await;
    eventually_within("one that takes no answer is closed", PATIENCE, async || {
        // A byte more is answered by the system, which knows of the connection no more.
        let written = takes_none.write(b"x");
        written.is_err_and(|error| error.kind() != ErrorKind::WouldBlock)
    })
    .await;
}

#[tokio::test]
async fn a_head_or_a_body_that_comes_a_byte_at_a_time_is_closed() {
    let daemon = daemon();
    let address = &daemon.ready.http_addr;
    let mut drips = [Kind::HalfTheHeaders, Kind::HalfABody].map(|kind| kind.open(address, TOKEN));
    let began = Instant::now();
    for stream in &mut drips {
        while !is_closed(stream) {
            assert!(began.elapsed() < PATIENCE);
            drop(stream.write(b"x"));
            tokio::time::sleep(Duration::from_millis(2_000)).await;
        }
    }
}

#[tokio::test]
async fn who_has_no_token_is_refused_before_the_body() {
    let daemon = daemon();
    let mut stream = Kind::NoBody.open(&daemon.ready.http_addr, TOKEN);
    let mut answer = Vec::new();
    eventually_within("the head is answered", Duration::from_secs(5), async || {
        let mut bytes = [0; 4096];
        if let Ok(count) = stream.read(&mut bytes) {
            answer.extend_from_slice(&bytes[..count]);
        }
        answer.starts_with(b"HTTP/1.1 401")
    })
    .await;
}
