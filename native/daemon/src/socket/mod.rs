//! The daemon's place in the file system: the socket, its lock, and the folder of grant files.

mod directory;
mod listener;
mod lock;

use std::fs;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use pegaflow_core::error::Result;

use self::lock::SocketLock;
use crate::boot::Boot;
use crate::config::DaemonConfig;

/// A socket that this daemon alone serves; its files are removed when this is dropped.
#[derive(Debug)]
pub(crate) struct SocketPlace {
    socket: PathBuf,
    grants: PathBuf,
    /// The last to go: with it, the place is free.
    _lock: SocketLock,
}

impl SocketPlace {
    /// Takes the place, which no living daemon may have, and listens there.
    ///
    /// # Errors
    /// `Config`, with what is in the way and what to do about it.
    pub(crate) fn take(config: &DaemonConfig, boot: &Boot) -> Result<(Self, UnixListener)> {
        let socket = &config.socket;
        directory::prepare(socket)?;
        let lock = SocketLock::take(socket, boot.process)?;
        let group = config
            .socket_group
            .as_deref()
            .map(listener::group_id)
            .transpose()?;
        listener::remove_stale(socket)?;
        // From here on, what is at these paths is this daemon's, and goes with the place.
        let place = Self {
            socket: socket.clone(),
            grants: grants_directory(socket),
            _lock: lock,
        };
        directory::make_empty(&place.grants, group.is_some())?;
        let listener = listener::listen(socket, group)?;
        Ok((place, listener))
    }
}

impl Drop for SocketPlace {
    fn drop(&mut self) {
        // The next daemon replaces what cannot be removed here.
        drop(fs::remove_file(&self.socket));
        drop(fs::remove_dir_all(&self.grants));
    }
}

/// Where the grant files of the daemon at `socket` are.
pub(crate) fn grants_directory(socket: &Path) -> PathBuf {
    DaemonConfig::beside_socket(socket, ".grants")
}
