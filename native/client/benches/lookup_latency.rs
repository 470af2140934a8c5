//! How long a lookup takes through client and socket, with a daemon that answers at once in a process of its own.
//!
//! Prints one JSON line for each size.
#![expect(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark"
)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pegaflow_client::{LookupState, SchedulerClient, SchedulerConfig};

#[expect(dead_code, reason = "the tests use all of it")]
#[path = "../tests/client/fake/mod.rs"]
mod fake;

const HASH_BYTES: u32 = 32;
const ROUNDS: usize = 5_000;

fn main() {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("serve") {
        return serve(Path::new(&args.next().expect("a socket")));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("daemon.sock");
    let mut daemon = Command::new(std::env::current_exe().expect("this program"))
        .arg("serve")
        .arg(&socket)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a daemon");
    let mut line = String::new();
    BufReader::new(daemon.stdout.take().expect("its output"))
        .read_line(&mut line)
        .expect("that it serves");

    let config = SchedulerConfig {
        socket,
        engine_key: [1; 16],
        engine_id: "bench".to_owned(),
        namespace: [2; 32],
        model: "none".to_owned(),
        workers: 1,
        shards: 1,
    };
    // Late answers are part of the result.
    let client = SchedulerClient::with_deadline(config, Duration::from_secs(1)).expect("a client");
    while !client.attached().expect("no fork") {
        std::thread::sleep(Duration::from_millis(1));
    }
    for hashes in [1, 64, 1_000, 10_000] {
        measure(&client, hashes);
    }
    drop(daemon.stdin.take());
    daemon.wait().expect("its end");
}

fn measure(client: &SchedulerClient, hashes: u32) {
    let packed = Bytes::from(vec![7; (hashes * HASH_BYTES) as usize]);
    let mut micros: Vec<f64> = (0..ROUNDS)
        .map(|round| {
            let request_id = format!("request-{round}");
            let begun = Instant::now();
            let lookup = client
                .lookup(&request_id, packed.clone(), HASH_BYTES, Duration::from_secs(1))
                .expect("no fork");
            let elapsed = begun.elapsed();
            assert_eq!(lookup.state, LookupState::Ready);
            client.forget(&request_id).expect("no fork");
            elapsed.as_secs_f64() * 1e6
        })
        .collect();
    micros.sort_by(f64::total_cmp);
    let quantile = |q: f64| micros[((micros.len() - 1) as f64 * q) as usize];
    println!(
        r#"{{"name": "lookup_latency", "hashes": {hashes}, "p50_us": {:.1}, "p99_us": {:.1}}}"#,
        quantile(0.5),
        quantile(0.99)
    );
}

fn serve(socket: &Path) {
    let _daemon = fake::FakeDaemon::start(socket, fake::Script::default());
    println!("ready");
    std::io::stdout().flush().expect("a reader");
    // Until the other side closes the pipe.
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).expect("a pipe");
}
