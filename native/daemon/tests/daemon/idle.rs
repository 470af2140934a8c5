//! A daemon that nobody uses costs nothing.

use std::fs;
use std::time::Duration;

use crate::support::engine::{Engine, Shape};
use crate::support::{Child, config, eventually, get};

/// Clock ticks of user and system time; there are 100 a second.
fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_ascii_whitespace()
        .collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[tokio::test]
async fn it_takes_less_than_half_a_percent_of_a_core() {
    let directory = tempfile::tempdir().unwrap();
    let settings = config(directory.path());
    let daemon = Child::start("daemon", &serde_json::to_string(&settings).unwrap());
    let _engine = Engine::start(&settings.socket, &Shape::new()).await;
    let http = daemon.said["http_addr"].as_str().unwrap();
    eventually("the pool is whole", async || get(http, "/readyz").code == 200).await;
    let before = cpu_ticks(daemon.pid());
    tokio::time::sleep(Duration::from_secs(4)).await;
    let used = cpu_ticks(daemon.pid()) - before;
    assert!(used <= 2, "{used} ticks of 400");
}
