//! Whoever tidies up a living daemon's folder cuts no engine off.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use crate::support::engine::{Engine, Shape, fresh_hashes};
use crate::support::{Daemon, eventually};

/// A daemon in a folder below the test's own, which can go as a whole.
fn daemon() -> (Daemon, PathBuf) {
    let daemon = Daemon::start_with(|config| {
        let folder = config.socket.with_file_name("folder");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o750)).unwrap();
        config.socket = folder.join("daemon.sock");
    });
    let folder = daemon.socket().parent().unwrap().to_owned();
    (daemon, folder)
}

fn grants(socket: &Path) -> PathBuf {
    socket.with_file_name("daemon.sock.grants")
}

async fn serves(engine: &mut Engine) {
    let hashes = fresh_hashes(2);
    engine.save(&hashes, &[0, 1]).await;
    assert_eq!(engine.lookup(&hashes).await.memory_blocks, 2);
}

#[tokio::test]
async fn what_was_removed_is_there_again_and_no_engine_notices() {
    let (daemon, folder) = daemon();
    let mut before = Engine::start(daemon.socket(), &Shape::new()).await;
    let lock = folder.join("daemon.sock.lock");
    for gone in [
        daemon.socket().to_owned(),
        lock,
        grants(daemon.socket()),
        folder.clone(),
    ] {
        // All of it in one step.
        fs::rename(
            &gone,
            tempfile::tempdir_in(daemon.directory())
                .unwrap()
                .keep()
                .join("gone"),
        )
        .unwrap();
        eventually("all is there again", async || {
            daemon.socket().exists() && grants(daemon.socket()).exists()
        })
        .await;
        serves(&mut before).await;
        serves(&mut Engine::start(daemon.socket(), &Shape::new()).await).await;
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(daemon.socket())), (0o750, 0o600));
    assert_eq!(mode(&grants(daemon.socket())), 0o700);
    drop(before);
    daemon.stop().await;
    assert!(!folder.join("daemon.sock").exists() && !grants(&folder.join("daemon.sock")).exists());
    assert!(!folder.join("daemon.sock.lock").exists());
}

#[tokio::test]
async fn what_somebody_else_put_in_its_place_stays() {
    let (mut daemon, folder) = daemon();
    let mut control = daemon.control().await;
    let elsewhere = daemon.directory().join("other.sock");
    let _other = UnixListener::bind(&elsewhere).unwrap();
    fs::rename(&elsewhere, daemon.socket()).unwrap();
    let stop = pegaflow_proto::v1::StopRequest { purge: true };
    control.stop(stop).await.unwrap();
    daemon.join().unwrap();
    assert!(folder.join("daemon.sock").exists());
}
