//! A socket that is shared with a group.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use rustix::process::{getegid, geteuid};

use crate::support::engine::{Engine, Shape, fresh_hashes};
use crate::support::{Child, Daemon};

/// The user and group called nobody.
const NOBODY: u32 = 65_534;

#[tokio::test]
async fn its_members_use_the_daemon_like_its_owner() {
    // Only root can give a socket to a group that it is not in, and reach other users' memory.
    let is_root = geteuid().is_root();
    let group = if is_root { NOBODY } else { getegid().as_raw() };
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
    let daemon = Daemon::start_with(|settings| {
        settings.socket = directory.path().join("daemon.sock");
        settings.socket_group = Some(group.to_string());
    });
    let socket = fs::metadata(daemon.socket()).unwrap();
    assert_eq!((socket.mode() & 0o777, socket.gid()), (0o660, group));

    let mut own = Engine::start(daemon.socket(), &Shape::new()).await;
    let hashes = fresh_hashes(2);
    own.save(&hashes, &[0, 1]).await;
    if is_root {
        let socket = daemon.socket().to_str().unwrap();
        let other = Child::start_as(NOBODY, directory.path(), "engine", socket);
        assert_ne!(other.said["lease"], 0, "it saved and looked up");
        let grant_file = fs::metadata(other.said["grant_file"].as_str().unwrap()).unwrap();
        assert_eq!((grant_file.mode() & 0o777, grant_file.uid()), (0o600, NOBODY));
        other.end_keepers();
    }
}
